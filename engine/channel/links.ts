import { textLength } from './text.ts';

/** What is wrong with a web address: the code and message of its 50035 leaf. */
export interface LinkProblem {
  readonly code: string;
  readonly message: string;
}

const SCHEME = /^([a-z][a-z0-9+.-]*):/i;
const WEB = /^https?:\/\//i;
/** URL parsers drop tabs and line ends silently, so that two readers of such a text may see two addresses. */
const CONTROL = /\p{Cc}/u;

/**
 * Checks a URL that clients show as a link or load as an image: http or https only, so that it can neither run a
 * script nor read a local file.
 *
 * @param schemes Schemes that the error message names.
 * @param max     Code points.
 * @returns null when the URL is valid.
 */
export function linkProblem(
  url: string,
  max: number,
  schemes: readonly string[] = ['http', 'https'],
): LinkProblem | null {
  if (textLength(url, max) > max)
    return { code: 'BASE_TYPE_MAX_LENGTH', message: `Must be ${max} or fewer in length.` };
  const scheme = SCHEME.exec(url)?.[1];
  if (scheme && !/^https?$/i.test(scheme)) return wrongScheme(scheme, schemes);
  if (!WEB.test(url) || CONTROL.test(url) || !URL.canParse(url))
    return { code: 'URL_TYPE_INVALID_URL', message: 'Not a well formed URL.' };
  return null;
}

/** The 50035 leaf for a URL whose scheme is not allowed there. */
export const wrongScheme = (scheme: string, schemes: readonly string[]): LinkProblem => ({
  code: 'URL_TYPE_INVALID_SCHEME',
  message: `Scheme "${scheme.slice(0, 32)}" must be one of (${schemes.map((one) => `'${one}'`).join(', ')}).`,
});
