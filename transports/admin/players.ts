import { Type } from 'typebox';
import type { ProviderSettings } from '../../engine/provisional/providers.ts';
import type { ApplicationId } from '../../protocol/ids.ts';
import { type AdminRoute, closed, post, Snowflake } from './route.ts';

const Text = Type.String({ minLength: 1, maxLength: 2048 });

/** Identity providers as in `ProviderSettings`, in the spelling of the wire. */
const Provider = Type.Union([
  Type.Object({ type: Type.Literal('OIDC'), issuer: Text, client_id: Text }, closed),
  Type.Object({ type: Type.Literal('STEAM'), app_id: Text, web_api_key: Text }, closed),
  Type.Object({ type: Type.Literal('EPIC_ONLINE_SERVICES'), client_id: Text }, closed),
  Type.Object({ type: Type.Literal('UNITY'), project_id: Text }, closed),
  Type.Object({ type: Type.Literal('APPLE'), client_id: Text }, closed),
  Type.Object({ type: Type.Literal('PLAYSTATION_NETWORK'), issuer: Text, client_id: Text }, closed),
]);

const SETTING_NAMES: Readonly<Record<string, string>> = {
  client_id: 'clientId',
  app_id: 'appId',
  web_api_key: 'webApiKey',
  project_id: 'projectId',
};

/** Routes for identity providers, a publisher's applications, and bans of users. */
export const playerRoutes: readonly AdminRoute[] = [
  post('/applications/:id/identity-providers', Provider, async (admin, body, id) => {
    const renamed = Object.entries(body).map(([key, value]) => [SETTING_NAMES[key] ?? key, value]);
    const settings = Object.fromEntries(renamed) as ProviderSettings;
    await admin.configureIdentityProvider(id, settings);
    return { status: 204 };
  }),
  post(
    '/applications/:id/identity-providers/remove',
    Type.Object(
      {
        type: Type.Enum(['OIDC', 'STEAM', 'EPIC_ONLINE_SERVICES', 'UNITY', 'APPLE', 'PLAYSTATION_NETWORK']),
      },
      closed,
    ),
    async (admin, { type }, id) => {
      await admin.removeIdentityProvider(id, type);
      return { status: 204 };
    },
  ),
  post(
    '/applications/:id/parent',
    Type.Object({ parent_id: Snowflake<ApplicationId>() }, closed),
    async (admin, body, id) => {
      const parentId = body.parent_id;
      await admin.linkChildApplication({ childId: id, parentId });
      return { status: 204 };
    },
  ),
  post(
    '/users/:id/ban',
    Type.Object({ until_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 8.64e15 })) }, closed),
    async (admin, body, id) => {
      await admin.banUser(id, body.until_ms ?? null);
      return { status: 204 };
    },
  ),
  post('/users/:id/unban', Type.Object({}, closed), async (admin, _, id) => {
    await admin.unbanUser(id);
    return { status: 204 };
  }),
];
