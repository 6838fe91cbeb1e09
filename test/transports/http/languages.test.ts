// Goal: the languages of a client come from its own header, or else from HTTP's, best first.
import { expect, test } from 'vitest';
import { languagesOf } from '../../../transports/http/exchange.ts';

test.each([
  [
    'the header of the client before Accept-Language',
    { 'x-discord-locale': 'de', 'accept-language': 'fr' },
    ['de'],
  ],
  ['the order of the header', { 'accept-language': 'fr, en-GB' }, ['fr', 'en-GB']],
  ['the order of qualities', { 'accept-language': 'da;q=0.1, en-GB;q=0.8, fr' }, ['fr', 'en-GB', 'da']],
  ['no language of quality 0', { 'accept-language': 'de;q=0, fr' }, ['fr']],
  ['no malformed parts', { 'accept-language': '*, ;q=1, d e, fr;q=x, it' }, ['it']],
  ['nothing without a header', {}, []],
  ['at most 16 parts', { 'accept-language': Array(99).fill('de').join() }, Array(16).fill('de')],
])('languagesOf reads %s', (_, headers, languages) => {
  expect(languagesOf(new Map(Object.entries(headers)))).toEqual(languages);
});
