const API = '/api/v10';

/** Calls the server of this page with a user's token. Rejects with the error message of the server. */
export async function callApi(token: string, path: string, init: RequestInit = {}): Promise<unknown> {
  const headers = { ...init.headers, authorization: `Bearer ${token}` };
  const response = await fetch(API + path, { ...init, headers });
  const text = await response.text();
  const body: unknown = text === '' ? null : JSON.parse(text);
  if (response.ok) return body;
  throw new Error(refusalOf(body) ?? `The server answered ${response.status}.`);
}

/** A call with a JSON body. */
export const jsonBody = (method: string, body: object): RequestInit => ({
  ...{ method, headers: { 'content-type': 'application/json' } },
  body: JSON.stringify(body),
});

/** A call with files. */
export function formBody(
  body: object,
  files: readonly { readonly filename: string; readonly bytes: Uint8Array }[],
): RequestInit {
  const form = new FormData();
  form.set('payload_json', JSON.stringify(body));
  for (const [id, { filename, bytes }] of files.entries())
    form.set(`files[${id}]`, new Blob([Uint8Array.from(bytes)]), filename);
  return { method: 'POST', body: form };
}

/** The first error of the tree, else the message of the refusal. */
function refusalOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null) return null;
  const nested = Object.values(body).map((value) =>
    Array.isArray(value) ? refusalOf(value[0]) : refusalOf(value),
  );
  return nested.find((text) => text !== null) ?? ('message' in body ? String(body.message) : null);
}
