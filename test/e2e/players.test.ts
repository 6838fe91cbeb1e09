// Goal: a person with an account on the page of players and a player authenticated by their own issuer in Node meet
// by a secret, write, talk, are received in a guild, lose their connections and resume, until the game's server
// removes them.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuthenticationExternalAuthType, CallError, CallStatus, Client } from '../../sdk/node.ts';
import { CHROMIUM, closeSocket, countSockets, launchBrowser, type TestBrowser } from '../support/browser.ts';
import { openIssuer } from '../support/oidc.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { ROOT } from '../support/source.ts';
import { shareAt } from '../support/tone.ts';
import { Player } from '../support/voice-player.ts';

const [ADA_HZ, BO_HZ] = [440, 700];
const PASSWORD = 'correct horse battery';
const SECRET = 'the same for both';
const CAN_LINK_LOBBY = 1;
/** VIEW_CHANNEL, SEND_MESSAGES, MANAGE_CHANNELS. */
const LINKING = String((1n << 10n) | (1n << 11n) | (1n << 4n));
const soon = { timeout: 20_000, interval: 200 };

let folder: string;
let issuer: Awaited<ReturnType<typeof openIssuer>>;
let server: TestServer;
let browser: TestBrowser;
let page: Page;
let bo: Player;
let adaId: string;
let lobbyId: string;
const complaints: string[] = [];

const pageUrl = () => `${server.info.cdn}/voice-room/players/`;
const press = (name: string, on = page) => on.getByRole('button', { name, exact: true }).click();
const member = (id: string) => page.locator(`[data-member="${id}"]`);
const code = () => page.locator('[data-code]').getAttribute('data-code');

/** Messages of the shown lobby, as the page shows them. */
const said = () => page.locator('[data-message]').allTextContents();

async function write(content: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(content);
  await press('Send');
}

/** A page whose sound can be listened to, and whose connections can be broken. */
async function openPage(): Promise<void> {
  const context = await browser.browser.newContext();
  page = await context.newPage();
  await page.addInitScript({ path: join(ROOT, 'test/support/room.page.js') });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (line) => line.type() === 'error' && complaints.push(line.text()));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-players-'));
  issuer = await openIssuer();
  await writeFile(join(folder, 'ca.pem'), issuer.ca);
  const set = { identity_issuers_private: issuer.issuer, identity_ca_file: join(folder, 'ca.pem') };
  server = await startServer({ set });
  const oidc = { type: 'OIDC', issuer: issuer.issuer, client_id: 'game' };
  await server.admin(`/applications/${server.info.application.id}/identity-providers`, oidc);
  if (CHROMIUM === null) return;
  browser = await launchBrowser(ADA_HZ);
  await openPage();
});

afterAll(async () => {
  await bo?.close();
  await browser?.close();
  await server?.finish();
  await issuer?.close();
  await rm(folder, { recursive: true });
});

async function adaHears(): Promise<number> {
  const samples = await page.evaluate(
    (id) => (globalThis as unknown as { listenTo(id: string): Promise<number[]> }).listenTo(id),
    bo.id,
  );
  return shareAt(Float64Array.from(samples), BO_HZ);
}

async function bothHear(): Promise<void> {
  await expect.poll(async () => shareAt(await bo.speaker.listen(), ADA_HZ), soon).toBeGreaterThan(0.5);
  await expect.poll(adaHears, soon).toBeGreaterThan(0.5);
}

test('the page is isolated, and found without the last stroke of its address', async () => {
  const reply = await fetch(pageUrl().slice(0, -1));
  expect(reply).toMatchObject({ status: 200, redirected: true, url: pageUrl() });
  expect(reply.headers.get('cross-origin-opener-policy')).toBe('same-origin');
  expect(reply.headers.get('content-security-policy')).toContain("default-src 'none'");
});

describe.runIf(CHROMIUM !== null)('players', () => {
  test('a person makes an account in the window that the page opens, agrees, and is in', async () => {
    await page.goto(`${pageUrl()}?application=${server.info.application.id}`);
    const [popup] = await Promise.all([page.waitForEvent('popup'), press('Sign in with an account')]);
    await popup.getByRole('link', { name: 'Make one' }).click();
    await popup.getByLabel('Username').fill('ada');
    await popup.getByLabel('Password').fill(PASSWORD);
    await press('Make an account', popup);
    await popup.getByRole('heading', { level: 1, name: /Authorize/ }).waitFor();
    expect(await popup.getByText('act for you').textContent()).toContain('ada');
    // Browsers let a window that an isolated page has opened close itself, or not; then it says that the person can.
    const over = Promise.race([
      popup.waitForEvent('close'),
      popup.getByText('you can close this window').waitFor(),
    ]);
    await press('Authorize', popup);
    await page.getByLabel('Secret of a lobby').waitFor();
    expect(await page.locator('.who').textContent()).toBe('ada');
    await over;
  });

  test('a player with an issuer’s ID token joins the lobby by its secret', async () => {
    const door = new Client({ apiBase: server.info.api });
    const idToken = await issuer.idToken({ sub: 'bo', preferred_username: 'Bo' });
    const { id } = server.info.application;
    const { OIDC } = AuthenticationExternalAuthType;
    const { accessToken } = await door.getProvisionalToken(id, OIDC, idToken);
    door.destroy();
    bo = await Player.open(server, 'bo', BO_HZ, true, accessToken);
    expect(bo.client.getCurrentUserV2()).toMatchObject({ displayName: 'Bo', isProvisional: true });

    await page.getByLabel('Secret of a lobby').fill(SECRET);
    await press('Join');
    const shown = page.locator('[data-lobby]');
    await shown.waitFor();
    lobbyId = await bo.client.createOrJoinLobby(SECRET);
    expect(await shown.getAttribute('data-lobby')).toBe(lobbyId);
    await member(bo.id).getByText('Bo', { exact: true }).waitFor();
    const ids = bo.client.getLobbyHandle(lobbyId)!.lobbyMemberIds;
    adaId = ids.find((each) => each !== bo.id)!;
    expect(bo.client.getUser(adaId)).toMatchObject({ displayName: 'ada', isProvisional: false });
  });

  test('the players send each other messages', async () => {
    await write('anybody here?');
    const newest = async () => (await bo.client.getLobbyMessagesWithLimit(lobbyId, 1))[0]?.content;
    await expect.poll(newest, soon).toBe('anybody here?');
    await bo.client.sendLobbyMessage(lobbyId, '<b>me</b>');
    await expect.poll(said, soon).toEqual(['ada anybody here?', 'Bo <b>me</b>']);
  });

  test('the players talk, encrypted end to end', async () => {
    await press('Talk');
    await page.locator('[data-phase=connected]').waitFor();
    // Noise suppression takes a steady tone for noise.
    await page.getByLabel('Take out noise and echo').uncheck();
    await bo.start(lobbyId).connected();
    await bothHear();
    expect(await code()).toMatch(/^\d{30}$/);
    expect(await code()).toBe(bo.call(lobbyId).getEncryption()?.privacyCode);
    await page.locator(`[data-member="${bo.id}"].speaks`).waitFor();
    await page.getByLabel('Volume of Bo').fill('0');
    await expect.poll(adaHears, soon).toBe(0);
    await page.getByLabel('Volume of Bo').fill('100');
    await press('Mute');
    await expect.poll(() => bo.call(lobbyId).getVoiceStateHandle(adaId)?.selfMute, soon).toBe(true);
    await press('Unmute');
    await bothHear();
  });

  test('a page with a broken connection rejoins lobby and call, with the missed messages', async () => {
    const before = await code();
    const count = await countSockets(page, '');
    await closeSocket(page, '', 4000);
    await page.getByText('The connection to the server was lost.').waitFor();
    await bo.client.sendLobbyMessage(lobbyId, 'still there?');
    await expect.poll(() => countSockets(page, ''), soon).toBe(count + 1);
    await page.getByText('The connection to the server was lost.').waitFor({ state: 'detached' });
    await expect.poll(async () => (await said()).at(-1), soon).toBe('Bo still there?');
    expect(bo.client.getLobbyHandle(lobbyId)?.lobbyMemberIds).toEqual([adaId, bo.id]);
    await bothHear();
    expect(await code()).toBe(before);
  });

  test('a page that is loaded again is in its lobby, and may enter the call again', async () => {
    await page.reload();
    await page.locator(`[data-lobby="${lobbyId}"]`).waitFor();
    await expect.poll(async () => (await said()).length, soon).toBe(3);
    await expect.poll(() => bo.call(lobbyId).getParticipants(), soon).toEqual([bo.id]);
    await press('Talk');
    await page.locator('[data-phase=connected]').waitFor();
    await page.getByLabel('Take out noise and echo').uncheck();
    await bothHear();
  });

  test('a member with the right links a lobby to a channel, and messages arrive in both', async () => {
    const { guild } = server.info;
    await server.admin(`/guilds/${guild.id}/members`, { user_id: adaId, permissions: LINKING });
    const members = [{ id: adaId, flags: CAN_LINK_LOBBY }, { id: bo.id }];
    const made = await server
      .bot()
      .call<{ id: string }>('create_lobby', { body: { members, metadata: { name: 'Clan' } } });
    await press('Clan');
    await press('Link the channel');
    await page.getByText('linked to #general').waitFor();
    await write('from the page');
    const channel = { params: { channel_id: guild.text_channel_id } };
    const newest = async () => (await server.bot().call<{ content: string }[]>('list_messages', channel))[0];
    await expect.poll(async () => (await newest())?.content, soon).toBe('from the page');
    await server.bot().call('create_message', { ...channel, body: { content: 'from the guild' } });
    await expect.poll(async () => (await said()).at(-1), soon).toMatch(/ from the guild$/);
    await bo.client.sendLobbyMessage(made.id, 'from Node');
    await expect.poll(async () => (await newest())?.content, soon).toBe('from Node');
    await press('Unlink the channel');
    await page.getByText('linked to #general').waitFor({ state: 'detached' });
    await server.bot().call('delete_lobby', { params: { lobby_id: made.id } });
    await page.getByText('You are no longer in this lobby.').waitFor();
  });

  test('players removed by the game’s server leave the lobby and its call', async () => {
    await press(`Lobby ${lobbyId.slice(-4)}`);
    const call = bo.call(lobbyId);
    const ended: CallError[] = [];
    call.setStatusChangedCallback((_, error) => void ended.push(error));
    const put = (userId: string) =>
      server.bot().call('delete_lobby_member', { params: { lobby_id: lobbyId, user_id: userId } });
    await put(bo.id);
    await member(bo.id).waitFor({ state: 'detached' });
    await expect.poll(() => call.getStatus(), soon).toBe(CallStatus.Disconnected);
    expect(ended.at(-1)).toBe(CallError.Forbidden);
    expect(bo.client.getLobbyIds()).toEqual([]);
    await put(adaId);
    await page.getByText('You are no longer in this lobby.').waitFor();
    expect(await page.locator('audio').count()).toBe(0);
  });

  test('a player who signs out is asked to sign in again, and the page logs no error', async () => {
    await press('Sign out');
    await page.getByRole('button', { name: 'Sign in with an account' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Sign in with an account' }).waitFor();
    expect(complaints).toEqual([]);
  });
});
