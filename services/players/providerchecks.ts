import type { Reply } from '../../engine/kernel/aggregate.ts';
import { displayName } from '../../engine/provisional/names.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { OutgoingHttp, VerifiedPlayer } from './ports.ts';

/** The proof is invalid, or the provider did not confirm it. */
const INVALID = { ok: false, refusal: refusal('INVALID_OAUTH2_ACCESS_TOKEN') } as const;

/** A session ticket in hexadecimal. */
const STEAM_TICKET = /^[0-9a-f]{2,10240}$/i;
const STEAM_ID = /^\d{17}$/;
const STEAM_API = 'https://partner.steam-api.com';

/**
 * Verifies a session ticket at the provider and looks up the player's display name.
 *
 * @source https://partner.steamgames.com/doc/webapi/ISteamUserAuth, `AuthenticateUserTicket`;
 * https://partner.steamgames.com/doc/webapi/ISteamUser, `GetPlayerSummaries`
 */
export async function verifySteamTicket(
  outgoing: OutgoingHttp,
  ticket: string,
  { appId, webApiKey }: { readonly appId: string; readonly webApiKey: string },
): Promise<Reply<VerifiedPlayer>> {
  if (!STEAM_TICKET.test(ticket)) return INVALID;
  const ask = (path: string, query: Record<string, string>) =>
    outgoing
      .json({ url: `${STEAM_API}/${path}/?${new URLSearchParams({ key: webApiKey, ...query })}` })
      .catch(() => null);
  const checked = await ask('ISteamUserAuth/AuthenticateUserTicket/v1', { appid: appId, ticket });
  const said = valueAt(checked, 'response', 'params');
  const steamId = valueAt(said, 'steamid');
  if (valueAt(said, 'result') !== 'OK' || typeof steamId !== 'string' || !STEAM_ID.test(steamId))
    return INVALID;
  if (valueAt(said, 'publisherbanned') === true) return INVALID;
  const shown = await ask('ISteamUser/GetPlayerSummaries/v2', { steamids: steamId });
  const name = displayName(valueAt(valueAt(shown, 'response', 'players', '0'), 'personaname'));
  return {
    ok: true,
    value: { providerType: 'STEAM', providerId: null, providerIssuedUserId: steamId, name },
  };
}

/** An access token that is safe in a header. */
const EPIC_TOKEN = /^[\x21-\x7e]{1,10240}$/;
const EPIC_ACCOUNT = /^[0-9a-f]{32}$/i;
const EPIC_API = 'https://api.epicgames.dev/epic';

/**
 * Verifies an access token at the provider and looks up the player's display name.
 *
 * @source https://dev.epicgames.com/docs/web-api-ref/authentication, "Token info" and "Accounts"
 */
export async function verifyEpicAccessToken(
  outgoing: OutgoingHttp,
  token: string,
  clientId: string,
): Promise<Reply<VerifiedPlayer>> {
  if (!EPIC_TOKEN.test(token)) return INVALID;
  const info = await outgoing
    .json({
      url: `${EPIC_API}/oauth/v2/tokenInfo`,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: String(new URLSearchParams({ token })),
    })
    .catch(() => null);
  const accountId = valueAt(info, 'account_id');
  if (valueAt(info, 'active') !== true || valueAt(info, 'client_id') !== clientId) return INVALID;
  if (typeof accountId !== 'string' || !EPIC_ACCOUNT.test(accountId)) return INVALID;
  const accounts = await outgoing
    .json({
      url: `${EPIC_API}/id/v2/accounts?accountId=${accountId}`,
      headers: { authorization: `Bearer ${token}` },
    })
    .catch(() => null);
  const name = displayName(valueAt(accounts, '0', 'displayName'));
  return {
    ok: true,
    value: { providerType: 'EPIC_ONLINE_SERVICES', providerId: null, providerIssuedUserId: accountId, name },
  };
}

/** The value at a path in JSON of unknown shape; undefined when there is none. */
function valueAt(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? Reflect.get(inner, key)
        : undefined,
    value,
  );
}
