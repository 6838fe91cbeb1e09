import { isJson } from '../sdk/voice/wire.ts';

export interface Recipe {
  readonly name: string;
  readonly install: string;
  readonly program: string;
}

/** The account that is signed in in this tab, and the additions of a demo. */
export interface SignedIn {
  readonly token: string;
  readonly demo: { readonly applicationId: string; readonly recipes: readonly Recipe[] } | null;
}

const KEPT = 'playground';
const CODE = /^#code=([\w-]{32})$/;

/** The one-time code of the address, which is removed from the address and the history at once. */
export function takeCode(): string | null {
  const code = CODE.exec(location.hash)?.[1] ?? null;
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search);
  return code;
}

/** The sign-in that this tab keeps; closing the tab forgets it. */
export function keptSignIn(): SignedIn | null {
  try {
    return signedInOf(JSON.parse(sessionStorage.getItem(KEPT) ?? 'null'));
  } catch {
    return null;
  }
}

export function keep(signedIn: SignedIn | null): void {
  if (signedIn === null) sessionStorage.removeItem(KEPT);
  else sessionStorage.setItem(KEPT, JSON.stringify(signedIn));
}

/** Signs in with a one-time code. Rejects when it was used before. */
export const signInWithCode = (code: string): Promise<SignedIn> =>
  asked('/playground/code', { authorization: `Code ${code}` });

/** Signs in as the account of this browser; null when no account is signed in. */
export const signInWithAccount = (): Promise<SignedIn | null> =>
  asked('/playground/session', {}).catch(() => null);

async function asked(path: string, headers: Record<string, string>): Promise<SignedIn> {
  const response = await fetch(path, { method: 'POST', headers });
  const body: unknown = await response.json();
  const signedIn = signedInOf(body);
  if (signedIn !== null) return signedIn;
  throw new Error(isJson(body) && typeof body.message === 'string' ? body.message : 'The sign-in failed.');
}

function signedInOf(body: unknown): SignedIn | null {
  if (!isJson(body) || typeof body.token !== 'string') return null;
  const { token, demo } = body;
  if (!isJson(demo) || typeof demo.applicationId !== 'string' || !Array.isArray(demo.recipes))
    return { token, demo: null };
  return { token, demo: { applicationId: demo.applicationId, recipes: demo.recipes.filter(isRecipe) } };
}

const isRecipe = (value: unknown): value is Recipe =>
  isJson(value) &&
  typeof value.name === 'string' &&
  typeof value.install === 'string' &&
  typeof value.program === 'string';
