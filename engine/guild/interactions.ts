import { AUDIT } from '../../protocol/audit.ts';
import type { UserId } from '../../protocol/ids.ts';
import { accepted } from '../kernel/aggregate.ts';
import { auditEntry, type Change, sameValue } from './auditing.ts';
import type { GuildInteractionFacts, SetPermissions } from './facts.ts';
import type { GuildTopic } from './topic.ts';

type InteractionCommands = {
  /** Sends an interaction to the sessions of the application's bot. */
  sendInteraction: { input: { readonly botId: UserId; readonly interaction: object }; value: null };
  /** Notes in the audit log that the caller changed the permissions of commands, and notifies the bots. */
  noteCommandPermissions: {
    input: { readonly before: SetPermissions | null; readonly after: SetPermissions };
    value: null;
  };
  /** Commands that members can use have changed. */
  noteCommandIndex: { input: object; value: null };
};

/** One change for each role, user or channel whose overwrite is another one now. */
function overwriteChanges(before: SetPermissions | null, after: SetPermissions): Change[] {
  const [was, is] = [before?.permissions ?? [], after.permissions];
  const ids = new Set([...was, ...is].map(({ id }) => id));
  return [...ids].flatMap((id) => {
    const [old, now] = [was.find((each) => each.id === id), is.find((each) => each.id === id)];
    if (sameValue(old, now)) return [];
    return [{ key: id, ...(now && { new_value: now }), ...(old && { old_value: old }) }];
  });
}

/** Use of applications by members, in guilds that have their bots. */
export const interactions: GuildTopic<
  InteractionCommands,
  Exclude<keyof GuildInteractionFacts, 'integrationChanged'>
> = {
  commands: {
    sendInteraction: {
      decide: (_, { botId, interaction }) =>
        accepted(null, [{ type: 'interactionSent', botId, interaction }]),
    },
    noteCommandPermissions: {
      decide(_, { before, after }, by, env) {
        const changes = overwriteChanges(before, after);
        const changed = { type: 'commandPermissionsChanged', permissions: after } as const;
        if (changes.length === 0) return accepted(null, [changed]);
        const entry = {
          actionType: AUDIT.APPLICATION_COMMAND_PERMISSION_UPDATE,
          targetId: after.id,
          ...{ changes, options: { application_id: after.application_id } },
        };
        return accepted(null, [changed, auditEntry(env, by, entry)]);
      },
    },
    noteCommandIndex: { background: true, decide: () => accepted(null, [{ type: 'commandIndexChanged' }]) },
  },
  facts: {
    commandPermissionsChanged: {
      durable: 'record',
      apply: () => {},
      dispatches: (_, { permissions }) => [
        { t: 'APPLICATION_COMMAND_PERMISSIONS_UPDATE', d: permissions, to: { kind: 'guild' } },
      ],
    },
    commandIndexChanged: {
      durable: 'record',
      apply: () => {},
      dispatches: (guild) => {
        const userIds = [...guild.sessionCounts.keys()].filter((id) => !guild.members.get(id)?.user.bot);
        return [
          {
            t: 'GUILD_APPLICATION_COMMAND_INDEX_UPDATE',
            d: { guild_id: guild.id },
            to: { kind: 'users', userIds },
          },
        ];
      },
    },
    interactionSent: {
      durable: false,
      apply: () => {},
      dispatches: (_, { botId, interaction }) => [
        { t: 'INTERACTION_CREATE', d: interaction, to: { kind: 'users', userIds: [botId] } },
      ],
    },
  },
};
