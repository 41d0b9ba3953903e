import { changeEmail } from "./change-email.js";
import { deleteAccount } from "./delete-account.js";
import { exportAccount } from "./export-account.js";
import { updateAccount } from "./update-account.js";

export {
  type ShownUser,
  deleteUserOf,
  forgetAddress,
  moveUserTo,
  renameUser,
  revokeKeysOf,
  setPlan,
  showUser,
  suspendUser,
  unsuspendUser,
  verifyUser,
} from "./manage-user.js";

export const accountOperations = [updateAccount, changeEmail, exportAccount, deleteAccount] as const;
