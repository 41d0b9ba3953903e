/** Long timeouts, for tests with many calls at once: on a busy machine each call still gets its turn. */
export const PATIENT = {
  connectionWaitMs: 30_000,
  lockWaitMs: 10_000,
  statementTimeoutMs: 60_000,
  reservedTimeoutMs: 30_000,
  transactionTimeoutMs: 60_000,
  // A test holds locks by a transaction until a statement waits for them.
  idleInTransactionMs: 60_000,
  searchTimeoutMs: 30_000,
  replicaDelayMs: 600_000,
  // A test pauses a connection until others have done their work.
  suspectAfterMs: 60_000,
};

/** Long limits for request slots and event loop delay: other work on the machine causes no refusals. */
export const PATIENT_DOORS = { waitForSlotMs: 30_000, loopDelayMs: 10_000 };

/** Long waits for the payment provider: a stand-in that works is not late because the machine does other things. */
export const PATIENT_PAYMENTS = { requestMs: 60_000, changeMs: 60_000, readMs: 60_000 };
