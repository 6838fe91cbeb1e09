import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { TestServer } from './server.ts';

/** Response of the token endpoint. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly id_token?: string;
  readonly scope: string;
  readonly expires_in: number;
  readonly guild?: { readonly id: string };
}

interface Posted<T> {
  readonly status: number;
  readonly body: T;
}

interface OAuthError {
  readonly error: string;
  readonly error_description: string;
}

/** A verifier and its challenge. */
export function pkce() {
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  return { verifier, asked: { code_challenge: challenge, code_challenge_method: 'S256' } };
}

/** An application that signs people in, as its own server does it. */
export class OAuthClient {
  readonly id: string;
  readonly secret: string;
  readonly #server: TestServer;

  constructor(server: TestServer, { id, secret }: { readonly id: string; readonly secret: string }) {
    this.#server = server;
    this.id = id;
    this.secret = secret;
  }

  /** An application with an owner of its own choice, set up as given. */
  static async make(
    server: TestServer,
    setup: {
      readonly owner_id?: string;
      readonly redirect_uris?: readonly string[];
      readonly public_client?: boolean;
    },
  ): Promise<OAuthClient & { readonly botId: string; readonly botToken: string }> {
    const { owner_id, ...settings } = setup;
    const made = await server.admin<{
      application: { id: string };
      client_secret: string;
      bot: { id: string; token: string };
    }>('/applications', { name: 'Lighthouse', ...(owner_id !== undefined && { owner_id }) });
    await server.admin(`/applications/${made.application.id}/oauth2`, settings);
    const client = new OAuthClient(server, { id: made.application.id, secret: made.client_secret });
    return Object.assign(client, { botId: made.bot.id, botToken: made.bot.token });
  }

  /** Posts a form with id and secret; without the secret when `fields` has it empty. */
  async post<T = OAuthError>(path: string, fields: Readonly<Record<string, string>>): Promise<Posted<T>> {
    const form = new URLSearchParams({ client_id: this.id, client_secret: this.secret, ...fields });
    const response = await fetch(`${this.#server.info.api}/oauth2/${path}`, { method: 'POST', body: form });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T };
  }

  /** The answer of the token endpoint; any other than 200 fails the test. */
  async tokens(fields: Readonly<Record<string, string>>): Promise<Tokens> {
    const { status, body } = await this.post<Tokens>('token', fields);
    if (status !== 200) expect.fail(`The token endpoint answered ${status} ${JSON.stringify(body)}`);
    return body;
  }

  refresh(token: string): Promise<Posted<OAuthError>> {
    return this.post('token', { grant_type: 'refresh_token', refresh_token: token });
  }

  /** Sends a person's decision about a request, under their own token. */
  async decide(
    userToken: string,
    query: Readonly<Record<string, string>>,
    decision: object = {},
  ): Promise<Posted<{ location: string | null }>> {
    const text = new URLSearchParams({ client_id: this.id, ...query });
    const response = await fetch(`${this.#server.info.api}/v10/oauth2/authorize?${text}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${userToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ authorize: true, ...decision }),
    });
    return { status: response.status, body: (await response.json()) as { location: string | null } };
  }

  /** Tokens of a person who agrees to these scopes. */
  async signIn(userToken: string, redirectUri: string, scope: string): Promise<Tokens> {
    const { verifier, asked } = pkce();
    const query = { response_type: 'code', redirect_uri: redirectUri, scope, ...asked };
    const { body } = await this.decide(userToken, query);
    const code = new URL(body.location ?? '').searchParams.get('code') ?? '';
    const grant = { grant_type: 'authorization_code', redirect_uri: redirectUri };
    return this.tokens({ ...grant, code, code_verifier: verifier });
  }
}
