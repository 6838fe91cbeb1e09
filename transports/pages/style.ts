/** The style sheet of all pages. Text has a contrast of at least 7:1, in both colour schemes. */
export const STYLE = `:root { color-scheme: light dark; --ground: #fff; --text: #1a1a1a; --quiet: #454545; --line: #767676;
  --action: #1d3f8f; --on-action: #fff; --wrong: #8f0f0f; --panel: #f3f3f5; }
@media (prefers-color-scheme: dark) { :root { --ground: #16171a; --text: #f0f0f0; --quiet: #c4c4c4; --line: #8c8c8c;
  --action: #b3c7ff; --on-action: #10131c; --wrong: #ffb0b0; --panel: #222329; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
header { border-bottom: 1px solid var(--line); }
nav, main { max-width: 38rem; margin: 0 auto; padding: 0.75rem 1rem; }
nav { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; align-items: center; }
nav strong { margin-right: auto; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2rem; }
a { color: var(--action); }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: 0.5rem; background: var(--ground); padding: 0.5rem; }
:focus-visible { outline: 3px solid var(--action); outline-offset: 2px; } main:focus { outline: none; }
.field { margin: 0 0 1.25rem; } label { display: block; font-weight: 600; }
.hint { margin: 0; color: var(--quiet); } .error { margin: 0; color: var(--wrong); font-weight: 600; }
input:not([type=checkbox]):not([type=radio]), select { display: block; width: 100%; min-height: 2.75rem; padding: 0.4rem 0.6rem;
  font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: 0.3rem; }
input:not([type=checkbox]):not([type=radio])[aria-invalid], select[aria-invalid] { border: 2px solid var(--wrong); }
.check { display: flex; gap: 0.6rem; align-items: baseline; font-weight: 400; } .check input { flex: none; }
button { min-height: 2.75rem; padding: 0.4rem 1.2rem; font: inherit; font-weight: 600; cursor: pointer; color: var(--on-action);
  background: var(--action); border: 2px solid var(--action); border-radius: 0.3rem; }
button.second { color: var(--action); background: transparent; }
button.plain { min-height: 0; padding: 0; color: var(--action); background: none; border: 0; text-decoration: underline; font-weight: 400; }
.buttons { display: flex; flex-wrap: wrap; gap: 0.75rem; margin: 1.5rem 0; }
.errors, .done { border: 2px solid var(--wrong); border-radius: 0.3rem; padding: 0 1rem; margin: 0 0 1.5rem; }
.done { border-color: var(--action); } .errors h2 { margin-top: 1rem; } .errors a { color: var(--wrong); }
.panel { background: var(--panel); border-radius: 0.3rem; padding: 0.5rem 1rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
.codes { font: 1.1rem/1.8 ui-monospace, monospace; columns: 2; } ul.list { list-style: none; padding: 0; }
.picture svg { display: block; width: 14rem; height: 14rem; background: #fff; }
fieldset { border: 1px solid var(--line); border-radius: 0.3rem; margin: 0 0 1.25rem; } legend { font-weight: 600; }
`;
