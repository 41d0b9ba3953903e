/** What a variable of Node lets all connections trust. */
const TRUST = "Name the file of its authority in NODE_EXTRA_CA_CERTS.";

/**
 * What to do about a certificate that was refused; undefined for any other error.
 * @param said the message of OpenSSL, or the code that Node gives it
 * @param variable the one with the server's address; undefined if the address is fixed
 * @param trust how to trust its authority
 */
export function adviceForCertificate(said: string, variable: string | undefined, trust = TRUST): string | undefined {
  if (/certificate has expired|CERT_HAS_EXPIRED/.test(said)) return `Renew it, unless ${CLOCK} is wrong.`;
  if (/certificate is not yet valid|CERT_NOT_YET_VALID/.test(said)) return `Set ${CLOCK}, or wait until it is valid.`;
  if (/altnames|ALTNAME|HOSTNAME_MISMATCH/.test(said))
    return variable && `Name the host of the certificate in ${variable}.`;
  return /certificate|CERT|ISSUER|LEAF_SIGNATURE/.test(said) ? trust : undefined;
}

const CLOCK = "the clock of this machine";
