// Goal: a link with nothing but a client id adds the application as the application has configured it.
import { describe, expect, test } from 'vitest';
import { readRequest } from '../../../engine/oauth/request.ts';
import { newApplication } from '../../../engine/user/application.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { ANNA, GAME } from '../../services/oauth/arrange.ts';
import { asking } from '../../services/oauth/flows.ts';

const BOT_ID = '1100000000000000012' as UserId;
const BOT = { scopes: ['bot', 'applications.commands'], permissions: '2048' };
const COMMANDS = { scopes: ['applications.commands'], permissions: '0' };
const ofType = (params: object) => ({ oauth2_install_params: params });

/** The request of a link, or the code of its refusal. */
function linkOf(configured: object, more: Parameters<typeof asking>[0] = {}) {
  const given = { name: 'Game', ownerId: ANNA, flags: 0, verifyKey: 'a'.repeat(64) };
  const made = newApplication(GAME, BOT_ID, given);
  const query = asking({ response_type: null, redirect_uri: null, state: null, scope: null, ...more });
  const read = readRequest(query, { ...made, ...configured });
  if (read.kind !== 'request') return read.kind === 'refused' ? read.refusal.code : read.kind;
  const { scopes, permissions, integrationType, responseType } = read.request;
  return { scopes, permissions, integrationType, responseType };
}
const bot = { scopes: BOT.scopes, permissions: 2048n, integrationType: 0, responseType: null };
const commands = { scopes: COMMANDS.scopes, permissions: 0n, integrationType: 1, responseType: null };

describe('an install link without scopes', () => {
  test.each<[string, object, object, unknown]>([
    ['install_params', { install_params: BOT }, {}, bot],
    ['the installation to a guild', { integration_types_config: { 0: ofType(BOT), 1: {} } }, {}, bot],
    [
      'the installation to a guild before install_params',
      { install_params: COMMANDS, integration_types_config: { 0: ofType(BOT) } },
      {},
      bot,
    ],
    [
      'install_params beside a configuration without any',
      { install_params: BOT, integration_types_config: { 0: {} } },
      {},
      bot,
    ],
    [
      'the installation to the account when it is the only one',
      { integration_types_config: { 1: ofType(COMMANDS) } },
      {},
      commands,
    ],
    [
      'the installation that the link names',
      { integration_types_config: { 0: ofType(BOT), 1: ofType(COMMANDS) } },
      { integration_type: '1' },
      commands,
    ],
    [
      'the permissions that the link names',
      { install_params: BOT },
      { permissions: '8' },
      { ...bot, permissions: 8n },
    ],
  ])('uses %s', (_, configured, more, asked) => {
    expect(linkOf(configured, more)).toEqual(asked);
  });

  test.each<[string, object, object]>([
    ['nothing is configured', {}, {}],
    ['the named installation is not configured', { install_params: BOT }, { integration_type: '1' }],
    [
      'the integration type is unknown',
      { integration_types_config: { 0: ofType(BOT) } },
      { integration_type: 'constructor' },
    ],
  ])('is refused when %s', (_, configured, more) => {
    expect(linkOf(configured, more)).toBe(50_035);
  });
});
