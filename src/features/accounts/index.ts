import { deleteAccount } from "./delete-account.js";
import { exportAccount } from "./export-account.js";

export {
  type ShownUser,
  deleteUserOf,
  renameUser,
  revokeKeysOf,
  setPlan,
  showUser,
  suspendUser,
  unsuspendUser,
  verifyUser,
} from "./manage-user.js";

export const accountOperations = [exportAccount, deleteAccount] as const;
