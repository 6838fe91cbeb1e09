import { refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { sameValue } from './auditing.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import type { GuildTemplate } from './pages.types.ts';
import { snapshotOf } from './templates.snapshot.ts';
import type { GuildTopic } from './topic.ts';

/** A template as replies show it. */
export type TemplateObject = GuildTemplate & {
  readonly source_guild_id: string;
  /** The guild has changed since; null when it has not. */
  readonly is_dirty: true | null;
};

export interface Named {
  readonly code: string;
}

type TemplateCommands = {
  /** For anyone who knows the code; the server itself calls it. */
  resolveTemplate: { input: Named; value: TemplateObject };
  listTemplates: { input: object; value: readonly TemplateObject[] };
  /** `code`: a random one that is not in use. */
  createTemplate: {
    input: Named & { readonly name: string; readonly description: string | null };
    value: TemplateObject;
  };
  syncTemplate: { input: Named; value: TemplateObject };
  updateTemplate: {
    input: Named & { readonly name?: string; readonly description?: string | null };
    value: TemplateObject;
  };
  deleteTemplate: { input: Named; value: TemplateObject };
  /** The server itself calls it when a person has made a guild from the template. */
  countTemplateUse: { input: Named; value: null };
};

const changed = (template: GuildTemplate): GuildFact => ({
  type: 'pageWritten',
  page: 'template',
  data: template,
});

/** A guild's template, of which there is at most one. The log has no entries for templates. */
export const templates: GuildTopic<TemplateCommands, never> = {
  commands: {
    resolveTemplate: {
      repeatable: true,
      decide: (guild, input) => withTemplate(guild, input, (template) => accepted(shown(guild, template))),
    },
    listTemplates: {
      repeatable: true,
      decide: (guild) => accepted(guild.pages.template ? [shown(guild, guild.pages.template)] : []),
    },
    createTemplate: { decide: createTemplate },
    syncTemplate: {
      decide: (guild, input, _by, env) =>
        withTemplate(guild, input, (template) => {
          const now = isoTimestamp(env.nowMs);
          return written(guild, { ...template, updated_at: now, serialized_source_guild: snapshotOf(guild) });
        }),
    },
    updateTemplate: {
      decide: (guild, input, _by, env) =>
        withTemplate(guild, input, (template) => {
          const { name = template.name, description = template.description } = input;
          if (name === template.name && description === template.description)
            return accepted(shown(guild, template));
          return written(guild, { ...template, name, description, updated_at: isoTimestamp(env.nowMs) });
        }),
    },
    deleteTemplate: {
      decide: (guild, input) =>
        withTemplate(guild, input, (template) =>
          accepted(shown(guild, template), [
            { type: 'pageWritten', page: 'template', data: null },
            { type: 'templateCodeDropped', code: template.code },
          ]),
        ),
    },
    countTemplateUse: {
      decide: (guild, input) =>
        withTemplate(guild, input, (template) =>
          accepted(null, [changed({ ...template, usage_count: template.usage_count + 1 })]),
        ),
    },
  },
  facts: {},
};

function withTemplate<Value>(
  guild: Guild,
  { code }: Named,
  decide: (template: GuildTemplate) => Outcome<Value, GuildFact>,
): Outcome<Value, GuildFact> {
  const { template } = guild.pages;
  return template?.code === code ? decide(template) : refused(refusal('UNKNOWN_GUILD_TEMPLATE'));
}

const shown = (guild: Guild, template: GuildTemplate): TemplateObject => ({
  ...template,
  source_guild_id: guild.id,
  is_dirty: sameValue(template.serialized_source_guild, snapshotOf(guild)) ? null : true,
});

const written = (guild: Guild, template: GuildTemplate): Outcome<TemplateObject, GuildFact> =>
  accepted(shown(guild, template), [changed(template)]);

function createTemplate(
  guild: Guild,
  { code, name, description }: TemplateCommands['createTemplate']['input'],
  by: By,
  env: Env,
): Outcome<TemplateObject, GuildFact> {
  if (guild.pages.template) return refused(refusal('GUILD_ALREADY_HAS_TEMPLATE'));
  const now = isoTimestamp(env.nowMs);
  const template: GuildTemplate = {
    ...{ code, name, description, usage_count: 0, created_at: now, updated_at: now },
    creator_id: by.userId,
    creator: guild.members.get(by.userId)?.user ?? null,
    serialized_source_guild: snapshotOf(guild),
  };
  return accepted(shown(guild, template), [changed(template), { type: 'templateCodeTaken', code }]);
}
