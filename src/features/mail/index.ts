export { mailChores } from "./chores.js";
export { sendDueMails } from "./outbox.js";
export { type WaitingMail, retryMails, readWaitingMails } from "./waiting-mails.js";
