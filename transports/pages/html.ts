/** Text that is already markup. Created only by `html`, and by `trusted` for markup that the program generated. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** A value in a template; null, undefined and false render as nothing. */
export type Part = Html | string | number | null | undefined | false | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for use between tags and in quoted attributes. */
const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => ENTITIES[one] ?? one);

function rendered(part: Part): string {
  if (part instanceof Html) return part.toString();
  if (part === null || part === undefined || part === false) return '';
  if (typeof part === 'object') return part.map(rendered).join('');
  return escaped(String(part));
}

/**
 * Markup with values, each escaped unless it is markup itself, so that users' text can never become markup. Values may stand
 * between tags or in quoted attributes; escaping is not sufficient elsewhere.
 */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(texts.reduce((all, text, index) => all + rendered(parts[index - 1]) + text));
}

/** Marks markup that the program generated as safe. */
export const trusted = (markup: string): Html => new Html(markup);
