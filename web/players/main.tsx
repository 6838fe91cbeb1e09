import { render } from 'preact';
import { App } from './app.tsx';
import { Game } from './game.ts';

render(<App game={new Game()} />, document.querySelector('#app')!);
