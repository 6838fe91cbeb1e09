import { oauthRefusal } from '../../protocol/oauth.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import { expandScopes, isScope, type Scope, scopeRow } from '../../protocol/scopes.ts';
import type { Application } from '../user/facts.ts';

/** Characters of a scope list; all scopes together fit. */
const SCOPE_CHARACTERS_MAX = 2_048;

/** Scopes that mean nothing without another one. @source https://docs.discord.food/topics/oauth2#oauth2-scopes */
const NEEDS: Partial<Record<Scope, Scope>> = { email: 'identify', 'gateway.connect': 'identify' };

/** Scopes that put something into a guild or channel; a user agrees to them each time. */
export const PLACING: ReadonlySet<Scope> = new Set(['bot', 'applications.commands', 'webhook.incoming']);

/** Scopes that this server does not support yet. */
const UNSERVED: ReadonlySet<Scope> = new Set(['webhook.incoming']);

type AskedScopes =
  | { readonly ok: true; readonly scopes: readonly Scope[] }
  | { readonly ok: false; readonly refusal: Refusal };

const no = (description: string): AskedScopes => ({
  ok: false,
  refusal: oauthRefusal('invalid_scope', description),
});

/** An untrusted name, made safe for an error message. */
const shown = (name: string): string => name.replace(/[^\x21\x23-\x5b\x5d-\x7e]/g, '?').slice(0, 64);

/**
 * Scopes that an application of a team may have as its owner: no single person speaks for a team.
 *
 * @source https://docs.discord.com/developers/topics/oauth2#client-credentials-grant
 */
const OF_TEAMS: ReadonlySet<Scope> = new Set(['identify', 'applications.commands.update']);

/**
 * Reads a list of scopes, separated by spaces. Each scope is returned once, in the order of the request.
 *
 * @param by Client credentials may have scopes that no user can agree to, but none of `PLACING`.
 */
export function readScopes(
  text: string,
  application: Pick<Application, 'oauth2' | 'bot_id' | 'team_id'>,
  by: 'consent' | 'clientCredentials' | 'device',
): AskedScopes {
  const names = text.length > SCOPE_CHARACTERS_MAX ? [] : text.split(' ').filter((name) => name !== '');
  if (names.length === 0) return no('A list of scopes is required.');
  const scopes: Scope[] = [];
  for (const name of new Set(names)) {
    if (!isScope(name)) return no(`There is no scope "${shown(name)}".`);
    const row = scopeRow(name);
    if (row.approval && !application.oauth2?.approvedScopes.includes(name))
      return no(`The application is not approved for the scope "${name}".`);
    if (row.clientCredentialsOnly && by !== 'clientCredentials')
      return no(`The scope "${name}" is for the client credentials grant only.`);
    if (UNSERVED.has(name)) return no(`The scope "${name}" is not served here.`);
    if (PLACING.has(name) && by !== 'consent')
      return no(`The scope "${name}" needs somebody who agrees to it in a browser.`);
    if (by === 'clientCredentials' && application.team_id && !OF_TEAMS.has(name))
      return no(`The scope "${name}" is not for applications of a team.`);
    if (name === 'bot' && application.bot_id === null) return no('The application has no bot.');
    scopes.push(name);
  }
  const all = expandScopes(scopes);
  for (const scope of scopes) {
    const needed = NEEDS[scope];
    if (needed && !all.has(needed)) return no(`The scope "${scope}" needs "${needed}".`);
  }
  return { ok: true, scopes };
}
