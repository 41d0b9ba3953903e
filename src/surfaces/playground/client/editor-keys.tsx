import { useMonaco } from "@graphiql/react";
import { useEffect } from "react";

/**
 * Lets the keyboard leave an editor by the same keys on every system. On a Mac the editor's own are Ctrl-Shift-M, with
 * which GraphiQL merges fragments.
 */
export function EditorKeys(): null {
  const monaco = useMonaco(({ monaco: loaded }) => loaded);
  useEffect(() => {
    if (!monaco) return undefined;
    const { KeyMod, KeyCode, editor } = monaco;
    const keybinding = KeyMod.WinCtrl | KeyCode.KeyM;
    const rule = editor.addKeybindingRule({ keybinding, command: "editor.action.toggleTabFocusMode", when: "isMac" });
    return () => rule.dispose();
  }, [monaco]);
  return null;
}
