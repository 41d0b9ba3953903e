export { mailChores } from "./chores.js";
export { sendDueMails } from "./outbox.js";
export { type WaitingMail, retryMails, waitingMails } from "./waiting-mails.js";
