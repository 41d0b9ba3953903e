export { forgetUselessMails, sendDueMails } from "./outbox.js";
export { retryMails, waitingMails } from "./waiting-mails.js";
