// Goal: the replies that operations declare fit the published file except in listed places, and a reply that breaks its
// declaration is reported with the operation, the status and the field.
import { describe, expect, test } from 'vitest';
import { openApi } from '../../transports/rest/openapi.ts';
import { operations } from '../../transports/rest/resources/index.ts';
import { objectionsToReply } from '../support/declaredreplies.ts';
import { specDocument } from '../support/openapi.ts';
import { replyDifferences } from '../support/replycompare.ts';

const DIRECTORY = 'docs.discord.food lists it at the channel object; the platform sends it.';
const SCREENING = 'docs.discord.food lists it at the join request object; the platform sends it.';
const OWN_ANSWERS = 'docs.discord.food lists it; members receive their own answers with the questions.';
const MEDIA = 'The documentation lists it at the unfurled media item.';

/** Fields of replies that the published file does not have, each with the reason; the list only shrinks. */
const DIFFERENCES: Readonly<Record<string, string>> = {
  'CreatedThread.message is not published': 'The documentation of posts in forums nests the first message.',
  'Entitlement.subscription_id is not published': 'The example of the documentation has it.',
  'GroupChannel.nicks is not published': DIRECTORY,
  'GuildChannel.is_linkable is not published': DIRECTORY,
  'GuildChannel.is_viewable_and_writeable_by_all_members is not published': DIRECTORY,
  'GuildChannel.linked_lobby is not published': DIRECTORY,
  'GuildPreview.banner is not published': 'The server sends it with the other pictures of the guild.',
  'IntegrationApplication.summary is not published':
    'Libraries read it, as the file had it until API version 9.',
  'InviteScheduledEvent.entity_metadata is not published':
    'The documentation lists it at the scheduled event, which the invite contains.',
  'JoinRequest.interview_channel_id is not published': SCREENING,
  'JoinRequest.join_request_id is not published': SCREENING,
  'JoinRequest.last_seen is not published': SCREENING,
  'MessageInteraction.member is not published': 'The documentation lists it at the message interaction.',
  'OwnOnboarding.onboarding_prompts_seen is not published': OWN_ANSWERS,
  'OwnOnboarding.onboarding_responses_seen is not published': OWN_ANSWERS,
  'OwnOnboarding.responses is not published': OWN_ANSWERS,
  'UnfurledMedia.flags is not published': MEDIA,
  'UnfurledMedia.loading_state is not published': MEDIA,
  'UnfurledMedia.size is not published': MEDIA,
};

type Json = Readonly<Record<string, unknown>>;
type Responses = Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema: Json }>> }>>;

const own: Json = JSON.parse(JSON.stringify(openApi('0.0.0', 'http://127.0.0.1:3000/api/v10')));
const published = specDocument();

/** The successful answers of each operation of a document, by operationId and status; null for one without a body. */
function repliesOf({ paths }: Json): Map<string, Map<string, Json | null>> {
  const found = new Map<string, Map<string, Json | null>>();
  for (const methods of Object.values(paths as Readonly<Record<string, Json>>))
    for (const each of Object.values(methods)) {
      const { operationId, responses } = each as { operationId?: string; responses?: Responses };
      if (operationId === undefined || !responses) continue;
      const replies = Object.entries(responses)
        .filter(([status]) => status.startsWith('2'))
        .map(([status, { content = {} }]) => [status, Object.values(content)[0]?.schema ?? null] as const);
      found.set(operationId, new Map(replies));
    }
  return found;
}

const [ours, theirs] = [repliesOf(own), repliesOf(published)];

function differencesOf(operationId: string): string[] {
  return [...(ours.get(operationId) ?? [])].flatMap(([status, reply]) => {
    const at = `${operationId} ${status}`;
    const expected = theirs.get(operationId)?.get(status);
    if (expected === undefined) return [`${at} is not published`];
    if (expected === null || reply === null)
      return expected === reply
        ? []
        : [`${at} has ${reply === null ? 'no' : 'a'} body, unlike the published one`];
    return replyDifferences(expected, reply, at, { published, own });
  });
}

describe('the replies that operations declare', () => {
  test('fit the published file, except in the listed places', () => {
    const found = new Set(Object.keys(operations).flatMap(differencesOf));
    expect([...found].sort()).toEqual(Object.keys(DIFFERENCES).sort());
  });
});

describe('a reply', () => {
  const ROLE = {
    id: '7',
    name: 'Crew',
    permissions: '8',
    position: 1,
    color: 0,
    hoist: false,
    managed: false,
  };
  const COLORS = { primary_color: 0, secondary_color: null, tertiary_color: null };
  const role = { ...ROLE, colors: COLORS, mentionable: false, icon: null, unicode_emoji: null, flags: 0 };
  const check = (body: unknown, status = 200) => objectionsToReply('list_guild_roles', status, body);

  test('fits the declaration of its operation', () => {
    expect(check([role])).toEqual([]);
    expect(objectionsToReply('delete_guild_role', 204, undefined)).toEqual([]);
  });

  test('is reported with the path of a field that is wrong, missing or unknown', () => {
    const { name: _, ...nameless } = role;
    expect(check([role, { ...role, color: 'red' }])).toEqual([
      'list_guild_roles 200: /1/color is "red", expected integer',
    ]);
    expect(check([nameless])).toEqual(['list_guild_roles 200: /0/name is missing in Role']);
    expect(check([{ ...role, secret: 1 }])).toEqual([
      'list_guild_roles 200: /0/secret is 1, which Role does not name',
    ]);
    expect(check([{ ...role, id: '7a' }])).toEqual([
      'list_guild_roles 200: /0/id is "7a", expected snowflake',
    ]);
    expect(check(role)).toHaveLength(1);
  });

  test('is reported when its status is undeclared or it has an unwanted body', () => {
    expect(check([role], 201)).toEqual([
      'list_guild_roles 201: the operation declares no reply of this status',
    ]);
    expect(objectionsToReply('delete_guild_role', 204, {})).toHaveLength(1);
  });
});
