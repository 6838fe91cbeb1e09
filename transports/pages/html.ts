/** Text that is markup already. Only `html` makes it, and `trusted` of what the program itself has drawn. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** What may stand in a template; absent things leave nothing. */
export type Part = Html | string | number | null | undefined | false | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Safe between tags and in quoted attributes. */
const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => ENTITIES[one] ?? one);

function rendered(part: Part): string {
  if (part instanceof Html) return part.toString();
  if (part === null || part === undefined || part === false) return '';
  if (typeof part === 'object') return part.map(rendered).join('');
  return escaped(String(part));
}

/**
 * Markup with values in it, each escaped unless it is markup itself: what people write can only ever be text. Values
 * stand between tags or in quoted attributes; nowhere else is escaping enough.
 */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(texts.reduce((all, text, index) => all + rendered(parts[index - 1]) + text));
}

/** Markup of the program's own making. */
export const trusted = (markup: string): Html => new Html(markup);
