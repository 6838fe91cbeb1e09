import MiniSearch, { type Options, type SearchResult } from 'minisearch';

/** As `scripts/docs/site.mjs` has indexed. */
const INDEXED: Options = { fields: ['heading', 'page', 'text'], storeFields: ['heading', 'page', 'start'] };
const FOUND = {
  prefix: true,
  fuzzy: (term: string): number | false => (term.length > 4 ? 0.2 : false),
  boost: { heading: 4, page: 2 },
  combineWith: 'AND' as const,
  // Decision records rank lower: few searches look for them.
  boostDocument: (id: string): number => (/^(adr|project)\//.test(id) ? 0.2 : 1),
};
const RESULTS_MAX = 12;

const root = document.documentElement.dataset.root ?? './';

function present<T extends Element>(selector: string, kind: new () => T): T {
  const found = document.querySelector(selector);
  if (!(found instanceof kind)) throw new Error(`The page has no ${selector}.`);
  return found;
}

let loading: Promise<MiniSearch> | null = null;

/** The index is loaded when the search is used first; after a failure it is loaded again. */
function searchIndex(): Promise<MiniSearch> {
  loading ??= fetch(`${root}search.json`)
    .then((response) => response.text())
    .then((text) => MiniSearch.loadJSON(text, INDEXED));
  loading.catch(() => {
    loading = null;
  });
  return loading;
}

function itemOf({ id, heading, page, start }: SearchResult): HTMLElement {
  const link = document.createElement('a');
  link.className = 'result';
  link.href = `${root}${String(id)}`;
  const place = heading === page ? '' : ` · ${String(page)}`;
  const parts = { strong: ['', heading], span: ['result-place', place], p: ['result-start', start] };
  for (const [tag, [className = '', text]] of Object.entries(parts)) {
    const part = document.createElement(tag);
    part.className = className;
    part.textContent = String(text);
    link.append(part);
  }
  const item = document.createElement('li');
  item.append(link);
  return item;
}

function startSearch(): void {
  const box = present('.search', HTMLElement);
  const input = present('.search input', HTMLInputElement);
  const list = present('.results', HTMLOListElement);
  const count = present('.count', HTMLParagraphElement);
  box.hidden = false;
  const show = (found: readonly SearchResult[], words: string): void => {
    list.replaceChildren(...found.slice(0, RESULTS_MAX).map(itemOf));
    count.textContent = words;
    box.classList.toggle('open', words !== '');
  };
  const search = async (): Promise<void> => {
    const wanted = input.value.trim();
    if (wanted === '') return show([], '');
    try {
      const index = await searchIndex();
      if (input.value.trim() !== wanted) return;
      const found = index.search(wanted, FOUND);
      show(found, found.length === 0 ? `Nothing found for ${wanted}` : `${found.length} found`);
    } catch {
      show([], 'The search index cannot be loaded.');
    }
  };
  input.addEventListener('focus', () => void searchIndex().catch(() => undefined), { once: true });
  input.addEventListener('input', () => void search());
  box.addEventListener('keydown', (event) => moveFocus(event, input, list));
  box.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return;
    input.value = '';
    show([], '');
    input.focus();
  });
  // A result on the same page closes the list too.
  list.addEventListener('click', () => show([], ''));
  document.addEventListener('click', ({ target }) => {
    if (!(target instanceof Node && box.contains(target))) show([], '');
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey)
      return;
    event.preventDefault();
    input.focus();
  });
}

/** Arrows move from the field through the results and back; Enter in the field opens the first one. */
function moveFocus(event: KeyboardEvent, input: HTMLInputElement, list: HTMLOListElement): void {
  const links = [...list.querySelectorAll('a')];
  const at = links.findIndex((link) => link.matches(':focus'));
  if (event.key === 'Enter' && at === -1) links[0]?.click();
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  event.preventDefault();
  const next = event.key === 'ArrowDown' ? at + 1 : at - 1;
  if (next < 0) input.focus();
  else links[Math.min(next, links.length - 1)]?.focus();
}

function startMenu(): void {
  const button = present('.menu', HTMLButtonElement);
  button.addEventListener('click', () => {
    const isOpen = document.body.classList.toggle('menu-open');
    button.setAttribute('aria-expanded', String(isOpen));
  });
}

/** A button that copies, on each block of code. */
function addCopyButtons(): void {
  if (navigator.clipboard === undefined) return;
  for (const block of document.querySelectorAll('main pre')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.querySelector('code')?.textContent ?? '');
      button.textContent = 'Copied';
    });
    button.addEventListener('blur', () => {
      button.textContent = 'Copy';
    });
    const frame = document.createElement('div');
    frame.className = 'block';
    block.replaceWith(frame);
    frame.append(block, button);
  }
}

document.documentElement.classList.add('js');
startSearch();
startMenu();
addCopyButtons();
