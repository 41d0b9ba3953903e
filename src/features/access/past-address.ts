/** An address, and until when it was a user's. Whatever comes to it later may be for somebody else. */
export interface PastAddress {
  readonly email: string;
  readonly until: Date;
}

/** Selects the rows that came to one of the addresses while it was the user's. The list of addresses uses the index. */
export const cameTo = (addresses: readonly PastAddress[]) => ({
  email: { in: addresses.map(({ email }) => email) },
  OR: addresses.map(({ email, until }) => ({ email, createdAt: { lte: until } })),
});
