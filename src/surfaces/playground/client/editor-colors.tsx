import { useGraphiQL, useGraphiQLActions, useMonaco } from "@graphiql/react";
import { useEffect } from "react";

/**
 * GraphiQL's two themes of the editor, by its names. Instead of Monaco's, comments, brackets and line numbers have colors
 * that are readable: a contrast of 4.5 or more.
 */
const THEMES = {
  "graphiql-DARK": {
    base: "vs-dark",
    comment: "#82b366",
    argument: "#908aff",
    innerBracket: "#da70d6",
    lineNumber: "#9aa4b8",
    accent: "#ff5794",
    page: "#212a3b",
    field: "#b7c2d711",
  },
  "graphiql-LIGHT": {
    base: "vs",
    comment: "#007000",
    argument: "#5b58bd",
    innerBracket: "#257a25",
    lineNumber: "#667085",
    accent: "#d60590",
    page: "#ffffff",
    field: "#3b4b6811",
  },
} as const;

const NONE = "#ffffff00";
/** Added to a color: a tenth of its opacity. */
const FAINT = "19";

/**
 * Replaces the editor's themes as soon as the editor is loaded. While the browser chooses the theme, the editor changes
 * with the page: GraphiQL lets it keep the colors of its start.
 */
export function EditorColors(): null {
  const monaco = useMonaco(({ monaco: loaded }) => loaded);
  const isChosenByBrowser = useGraphiQL(({ theme }) => theme === null);
  const { setTheme } = useGraphiQLActions();
  useEffect(() => {
    if (!isChosenByBrowser) return undefined;
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const change = () => setTheme(null);
    scheme.addEventListener("change", change);
    return () => scheme.removeEventListener("change", change);
  }, [isChosenByBrowser, setTheme]);
  useEffect(() => {
    for (const [name, { base, comment, argument, innerBracket, lineNumber, accent, page, field }] of Object.entries(
      THEMES,
    )) {
      monaco?.editor.defineTheme(name, {
        base,
        inherit: true,
        rules: [
          { token: "comment", foreground: comment },
          { token: "argument.identifier.gql", foreground: argument },
        ],
        colors: {
          "editor.background": NONE,
          "scrollbar.shadow": NONE,
          "editorBracketHighlight.foreground2": innerBracket,
          "editorLineNumber.foreground": lineNumber,
          "editorLineNumber.dimmedForeground": lineNumber,
          "textLink.foreground": accent,
          "textLink.activeForeground": accent,
          "editorLink.activeForeground": accent,
          focusBorder: accent,
          "input.background": field,
          "editorWidget.background": page,
          "editorHoverWidget.background": page,
          "editorSuggestWidget.background": page,
          "editorSuggestWidget.selectedBackground": accent + FAINT,
          "editorSuggestWidget.selectedForeground": accent,
          "list.hoverBackground": accent + FAINT,
          "list.highlightForeground": accent,
          "list.focusHighlightForeground": accent,
          "menu.background": page,
          "menu.selectionBackground": accent + FAINT,
          "menu.selectionForeground": accent,
          "quickInput.background": page,
          "quickInputList.focusBackground": accent + FAINT,
        },
      });
    }
  }, [monaco]);
  return null;
}
