/** What people do at the same time waits for its turn, however busy the machine is: servers have less patience. */
export const PATIENT = {
  ...{ connectionWaitMs: 30_000, lockWaitMs: 10_000 },
  ...{ statementTimeoutMs: 60_000, reservedTimeoutMs: 30_000, transactionTimeoutMs: 60_000 },
};

/** The same of places and of the event loop: nothing is refused because the machine does other things as well. */
export const PATIENT_DOORS = { waitForSlotMs: 30_000, loopDelayMs: 10_000 };
