import { AUDIT } from '../../protocol/audit.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { auditEntry, type Change, sameValue } from './auditing.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import type { FormField, MemberVerification } from './joinrequests.types.ts';
import { SCREENING } from './screening.ts';
import type { GuildTopic } from './topic.ts';

/** A request's changes of the form. An absent field stays as it is. */
export interface MemberVerificationDraft {
  readonly enabled?: boolean;
  readonly form_fields?: readonly FormFieldDraft[];
  readonly description?: string | null;
}

interface FormFieldDraft extends Pick<FormField, 'field_type' | 'label'> {
  readonly required?: boolean | null;
  readonly description?: string | null;
  readonly placeholder?: string | null;
  readonly values?: readonly string[] | null;
  readonly choices?: readonly string[] | null;
}

type MemberVerificationCommands = {
  getMemberVerification: { input: object; value: MemberVerification };
  updateMemberVerification: {
    input: { readonly draft: MemberVerificationDraft };
    value: MemberVerification;
  };
};

/** Members may look at a screened guild before they are let in. */
const PREVIEW = 'PREVIEW_ENABLED';
const FEATURES: ReadonlySet<string> = new Set([SCREENING, PREVIEW]);

/** Whether answers to the form need a moderator's approval. */
export const asksForApproval = ({ form_fields }: Pick<MemberVerification, 'form_fields'>): boolean =>
  form_fields.some(({ field_type }) => field_type !== 'TERMS');

/** The form of membership screening. @source https://docs.discord.food/resources/guild#member-verification-object */
export const memberVerification: GuildTopic<MemberVerificationCommands, never> = {
  commands: {
    getMemberVerification: {
      decide: ({ pages }) =>
        pages.member_verification
          ? accepted(pages.member_verification)
          : refused(refusal('UNKNOWN_GUILD_MEMBER_VERIFICATION_FORM')),
    },
    updateMemberVerification: { decide: update },
  },
  facts: {},
};

function update(
  guild: Guild,
  { draft }: MemberVerificationCommands['updateMemberVerification']['input'],
  by: By,
  env: Env,
): Outcome<MemberVerification, GuildFact> {
  const before = guild.pages.member_verification ?? null;
  const fields = draft.form_fields?.map(fieldOf) ?? before?.form_fields ?? [];
  const has = guild.info.features;
  const isOn = draft.enabled ?? has.includes(SCREENING);
  const no = draft.form_fields && fieldsRefusal(fields);
  if (no) return refused(no);
  if (isOn && fields.length === 0)
    return refused(invalidField(['form_fields'], 'BASE_TYPE_REQUIRED', 'A form has at least one question.'));
  const description = draft.description === undefined ? (before?.description ?? null) : draft.description;
  const isSame = before && sameValue(before.form_fields, fields) && before.description === description;
  const after: MemberVerification = isSame
    ? before
    : { version: isoTimestamp(env.nowMs), form_fields: fields, description };
  const features = [...has.filter((feature) => !FEATURES.has(feature)), ...(isOn ? FEATURES : [])];
  const facts: GuildFact[] = [];
  const changes: Change[] = [];
  if (!isSame) {
    facts.push({ type: 'pageWritten', page: 'member_verification', data: after });
    changes.push({ key: 'member_verification', new_value: after, ...(before && { old_value: before }) });
  }
  if (!sameValue(features, has)) {
    facts.push({ type: 'guildUpdated', info: { ...guild.info, features } });
    changes.push({ key: 'features', new_value: features, old_value: has });
  }
  if (facts.length === 0) return accepted(after);
  const entry = auditEntry(env, by, { actionType: AUDIT.GUILD_UPDATE, targetId: guild.id, changes });
  return accepted(after, [...facts, entry]);
}

/** A field as stored: only with the properties that its type uses. */
function fieldOf({
  field_type,
  label,
  required,
  description,
  placeholder,
  ...lists
}: FormFieldDraft): FormField {
  const isText = field_type === 'TEXT_INPUT' || field_type === 'PARAGRAPH';
  return {
    ...{ field_type, label, required: required ?? false },
    ...(description ? { description } : {}),
    ...(isText && placeholder ? { placeholder } : {}),
    ...(field_type === 'TERMS' ? { values: lists.values ?? [] } : {}),
    ...(field_type === 'MULTIPLE_CHOICE' ? { choices: lists.choices ?? [] } : {}),
  };
}

function fieldsRefusal(fields: readonly FormField[]): Refusal | null {
  const lists = [
    ['values', LIMITS.form_terms_max],
    ['choices', LIMITS.form_choices_max],
  ] as const;
  for (const [at, field] of fields.entries())
    for (const [key, max] of lists) {
      const size = field[key]?.length;
      if (size !== undefined && (size === 0 || size > max))
        return invalidField(
          ['form_fields', at, key],
          'BASE_TYPE_BAD_LENGTH',
          `Must be between 1 and ${max} in length.`,
        );
    }
  return null;
}
