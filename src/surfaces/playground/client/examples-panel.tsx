import { type GraphiQLPlugin, pick, useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import { type Example, EXAMPLES, memoriesIn } from "./examples.js";

/** The examples, as a list to choose from. */
export const EXAMPLES_PLUGIN: GraphiQLPlugin = { title: "Examples", icon: ExamplesIcon, content: ExamplesPanel };

function ExamplesPanel() {
  const { queryEditor, variableEditor, responseEditor } = useGraphiQL(
    pick("queryEditor", "variableEditor", "responseEditor"),
  );
  const actions = useGraphiQLActions();
  const choose = ({ operation }: Example) => {
    queryEditor?.setValue(operation(memoriesIn(responseEditor?.getValue() ?? "")));
    variableEditor?.setValue("");
    // GraphiQL reads the text a moment later; whoever runs it before must not ask for the operation it held before.
    actions.setOperationFacts({});
    queryEditor?.focus();
  };
  return (
    <section aria-label="Examples">
      <h2 className="playground-heading">Examples</h2>
      <p>
        Choose one, then run it with <kbd>Ctrl</kbd> <kbd>Enter</kbd>. The ids of the memories in the last answer are
        filled in.
      </p>
      <ol className="playground-examples">
        {EXAMPLES.map((example) => (
          <li key={example.title}>
            <button type="button" onClick={() => choose(example)}>
              <strong>{example.title}</strong>
              <span>{example.about}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

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
