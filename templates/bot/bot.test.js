// Run with `npm test`: a server in memory, a person, and this bot as it is.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGuild } from 'guildhall/testing';
import { startBot } from './bot.js';

let guild;
let bot;

before(async () => {
  guild = await startTestGuild();
  bot = await startBot({ token: guild.bot.token, rest: guild.rest });
});
after(async () => {
  await bot?.destroy();
  await guild?.close();
});

test('/roll answers with a number, and its button rolls again', async () => {
  const answer = await guild.user.slash('roll', { sides: 20 });
  assert.equal(answer.kind, 'message');
  assert.match(answer.message.content, /^You rolled \d+ of 20\.$/);
  const pressed = await guild.user.click(answer.message, 'again:20');
  assert.equal(pressed.kind, 'update');
  assert.match(pressed.message.content, /^You rolled \d+ of 20\.$/);
});

test('a die has six sides by itself, and a die of one side is refused', async () => {
  const answer = await guild.user.slash('roll');
  assert.match(answer.message.content, / of 6\.$/);
  await assert.rejects(guild.user.slash('roll', { sides: 1 }));
});
