# The bot of discord.py: see bot.mjs for what it does and prints.
import json
import os

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

api = os.environ["API"]
Route.BASE = f"{api}/v10"
DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(os.environ["GATEWAY"])


def step(name, detail=None):
    print(json.dumps({"step": name, "detail": detail}), flush=True)


class Pressing(discord.ui.View):
    @discord.ui.button(label="Press", custom_id="press", style=discord.ButtonStyle.primary)
    async def press(self, interaction, _button):
        await interaction.response.send_message("pong button")


class Bot(discord.Client):
    def __init__(self, **options):
        super().__init__(**options)
        self.tree = discord.app_commands.CommandTree(self)

        @self.tree.command(name="compat", description="Answers with a button.")
        async def compat(interaction):
            await interaction.response.send_message("pong command", view=Pressing())

    async def on_ready(self):
        step("ready")
        if self.get_guild(int(os.environ["GUILD"])) is not None:
            step("guild")
        try:
            await self.tree.sync()
        except discord.DiscordException as error:
            step("commands failed", str(error))

    async def on_message(self, message):
        if message.content.startswith("!ping"):
            await message.reply(message.content.replace("!ping", "pong"))
        elif message.content == "!bye":
            step("leaving")
            await self.close()


intents = discord.Intents.none()
intents.guilds = intents.messages = intents.message_content = True
Bot(intents=intents).run(os.environ["TOKEN"])
