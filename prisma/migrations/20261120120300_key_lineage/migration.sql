-- Which key a key was made by: it ends with that one at the latest. Null for one that no key made: a user's first, and
-- those of sign-up. Keys that were made before are nobody's, since that was not written down.
ALTER TABLE "api_key" ADD COLUMN "created_by_key" UUID;
CREATE INDEX "api_key_user_id_created_by_key_idx" ON "api_key"("user_id", "created_by_key");
