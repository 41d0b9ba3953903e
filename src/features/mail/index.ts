export { mailChores } from "./chores.js";
export { type WaitingMail, retryMails, readWaitingMails } from "./waiting-mails.js";
