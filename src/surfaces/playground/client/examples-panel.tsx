import { type GraphiQLPlugin, type MonacoEditor, pick, useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import type { Example } from "./example.js";
import { SUBJECTS } from "./examples.js";
import { knownIds, withoutEmptyKey } from "./fetcher.js";

/** The examples, as a list to choose from. */
export const EXAMPLES_PLUGIN: GraphiQLPlugin = { title: "Examples", icon: ExamplesIcon, content: ExamplesPanel };

function ExamplesPanel() {
  const { queryEditor, variableEditor, headerEditor, responseEditor } = useGraphiQL(
    pick("queryEditor", "variableEditor", "headerEditor", "responseEditor"),
  );
  // GraphiQL creates its editors one after the other; an example chosen before all exist would be lost silently.
  const isReady = Boolean(queryEditor && variableEditor && headerEditor && responseEditor);
  const actions = useGraphiQLActions();
  const choose = ({ document: text, variables }: Example) => {
    replaceText(queryEditor, text);
    replaceText(variableEditor, variables ? JSON.stringify(variables(knownIds()), null, 2) : "");
    // GraphiQL parses the text a moment later; until then, running it must not use the name of the previous operation.
    actions.setOperationFacts({});
    // Without a key the Headers tab stays in front, where the user writes it.
    if (variables && hasKey(headerEditor?.getValue())) showVariables();
    queryEditor?.focus();
  };
  return (
    <section aria-label="Examples">
      <h2 className="playground-heading">Examples</h2>
      <p>
        Choose one, then run it with <kbd>Ctrl</kbd> <kbd>Enter</kbd>. Its variables are filled with ids of earlier
        answers.
      </p>
      <p>
        In an editor, <kbd>Ctrl</kbd> <kbd>M</kbd> lets <kbd>Tab</kbd> move on instead of writing.
      </p>
      {SUBJECTS.map(({ name, examples }) => (
        <section key={name} aria-label={name}>
          <h3 className="playground-subject">{name}</h3>
          <ol className="playground-examples">
            {examples.map((example) => (
              <li key={example.title}>
                <button type="button" disabled={!isReady} onClick={() => choose(example)}>
                  <strong>{example.title}</strong>
                  <span>{example.about}</span>
                </button>
              </li>
            ))}
          </ol>
        </section>
      ))}
    </section>
  );
}

/** Unlike `setValue`, this can be undone: an example may have replaced what the user wrote. */
function replaceText(editor: MonacoEditor | undefined, text: string): void {
  const model = editor?.getModel();
  if (!model) return;
  editor?.pushUndoStop();
  editor?.executeEdits("examples", [{ range: model.getFullModelRange(), text }]);
  editor?.pushUndoStop();
}

function hasKey(headers = ""): boolean {
  try {
    return Object.keys(withoutEmptyKey(JSON.parse(headers) as object as Record<string, unknown>)).length > 0;
  } catch {
    return false;
  }
}

/** GraphiQL offers no other way to bring a tab to the front. */
const showVariables = (): void =>
  document.querySelector<HTMLButtonElement>('.graphiql-editor-tools button[data-name="variables"]')?.click();

function ExamplesIcon() {
  return (
    <svg height="1em" viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
      <circle cx="4.5" cy="6" r="1.75" />
      <circle cx="4.5" cy="12" r="1.75" />
      <circle cx="4.5" cy="18" r="1.75" />
      <path d="M9.5 6H21M9.5 12H21M9.5 18H21" />
    </svg>
  );
}
