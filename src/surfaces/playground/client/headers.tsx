import { pick, useGraphiQL } from "@graphiql/react";
import { useEffect } from "react";

/** The default headers, which a user completes with a key. */
export const HEADERS = `{"Authorization": "Bearer "}`;

/** GraphiQL stores headers per tab. A tab without a key copies that of another, so that users enter it once. */
export function HeadersOfNewTabs(): null {
  const { tabs, activeTabIndex, headerEditor } = useGraphiQL(pick("tabs", "activeTabIndex", "headerEditor"));
  useEffect(() => {
    const given = tabs.findLast(({ headers }) => headers && headers !== HEADERS)?.headers;
    if (given && headerEditor?.getValue() === HEADERS) headerEditor.setValue(given);
    // Runs only when another tab is selected, not while the user edits.
  }, [tabs[activeTabIndex]?.id]);
  return null;
}
