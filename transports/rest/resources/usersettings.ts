import type { UserSettings } from '../../../engine/social/facts.ts';
import { CONTACT_POLICIES } from '../../../protocol/contactpolicies.ts';
import { UserSettings as UserSettingsObject } from '../../../protocol/schemas/account.ts';
import { Choice, Nullable, Obj, Optional } from '../../../protocol/schemas/request.ts';
import { op, resource } from '../operation.ts';

const bucket = { per: null, limit: 10, windowMs: 10_000, group: 'user settings' } as const;

const Change = Obj({ direct_messages_from: Optional(Nullable(Choice(...CONTACT_POLICIES))) });

const shown = ({ directMessagesFrom }: UserSettings) => ({ direct_messages_from: directMessagesFrom });

/**
 * Users' own settings. The platform's format is not public, so these routes are this server's own. Null selects the
 * server's default.
 */
export const userSettings = resource({
  get_user_settings: op({
    method: 'GET',
    path: '/guildhall/v1/users/@me/settings',
    auth: 'user',
    bucket,
    status: 200,
    reply: UserSettingsObject,
    handle: async ({ caller }, { social }) => ({
      ok: true,
      value: shown(await social.settings.get(caller.userId)),
    }),
  }),

  update_user_settings: op({
    method: 'PATCH',
    path: '/guildhall/v1/users/@me/settings',
    auth: 'user',
    bucket,
    body: Change,
    status: 200,
    reply: UserSettingsObject,
    async handle({ caller, body }, { social }) {
      const before = await social.settings.get(caller.userId);
      const { direct_messages_from: directMessagesFrom = before.directMessagesFrom } = body;
      const next = { ...before, directMessagesFrom };
      await social.settings.set(caller.userId, next);
      return { ok: true, value: shown(next) };
    },
  }),
});
