import { pick, useGraphiQL } from "@graphiql/react";
import { useEffect } from "react";

/** What a user completes with a key. */
export const HEADERS = `{"Authorization": "Bearer "}`;

/** GraphiQL keeps headers tab by tab. A tab without a key takes that of another, so that it is given once. */
export function HeadersOfNewTabs(): null {
  const { tabs, activeTabIndex, headerEditor } = useGraphiQL(pick("tabs", "activeTabIndex", "headerEditor"));
  useEffect(() => {
    const given = tabs.findLast(({ headers }) => headers && headers !== HEADERS)?.headers;
    if (given && headerEditor?.getValue() === HEADERS) headerEditor.setValue(given);
    // Not while the user edits: only when another tab comes to the front.
  }, [tabs[activeTabIndex]?.id]);
  return null;
}
