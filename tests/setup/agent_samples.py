"""Files of agents as their documentation shows them, with comments and entries of others.

Each sample names the page on which its form was found (November 2026).
"""

from __future__ import annotations

from typing import NamedTuple


class Sample(NamedTuple):
    """A file of an agent before graphmem is set up."""

    agent: str
    scope: str
    path: str
    text: str
    found_at: str


SAMPLES = [
    Sample(
        "claude-code", "user", ".claude.json",
        '{\n  "numStartups": 12,\n  "mcpServers": {\n    "github": {\n      "type": "http",\n'
        '      "url": "https://api.githubcopilot.com/mcp/"\n    }\n  },\n'
        '  "projects": {"/home/ada/app": {"mcpServers": {}}}\n}\n',
        "https://code.claude.com/docs/en/mcp",
    ),
    Sample(
        "claude-code", "project", ".mcp.json",
        '{\n  "mcpServers": {\n    "shared-server": {\n      "type": "http",\n'
        '      "url": "https://example.com/mcp"\n    }\n  }\n}\n',
        "https://code.claude.com/docs/en/mcp",
    ),
    Sample(
        "claude-desktop", "user", ".config/Claude/claude_desktop_config.json",
        '{\n  "mcpServers": {\n    "filesystem": {\n      "command": "npx",\n'
        '      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/ada"]\n    }\n  }\n}',
        "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
    ),
    Sample(
        "cursor", "user", ".cursor/mcp.json",
        '{\n    "mcpServers": {\n        // the database of the shop\n        "postgres": {\n'
        '            "command": "npx",\n            "args": ["-y", "@modelcontextprotocol/server"], // ro\n'
        "        },\n    },\n}\n",
        "https://cursor.com/docs/mcp/install-links",
    ),
    Sample(
        "cursor", "project", ".cursor/mcp.json", '{"mcpServers": {"a": {"url": "https://example.com/mcp"}}}',
        "https://cursor.com/docs/mcp",
    ),
    Sample(
        "vscode", "user", ".config/Code/User/mcp.json",
        '{\n\t"servers": {\n\t\t"memory": {\n\t\t\t"command": "npx",\n'
        '\t\t\t"args": ["-y", "@modelcontextprotocol/server-memory"]\n\t\t}\n\t},\n'
        '\t"inputs": [] /* none */\n}\n',
        "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
    ),
    Sample(
        "vscode", "project", ".vscode/mcp.json", '{\r\n  "servers": {},\r\n  // later\r\n}\r\n',
        "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
    ),
    Sample(
        "windsurf", "user", ".codeium/windsurf/mcp_config.json",
        '{\n  "mcpServers": {\n    "remote": {\n      "serverUrl": "https://example.com/mcp",\n'
        '      "headers": {"Authorization": "Bearer ${env:TOKEN}"}\n    }\n  }\n}\n',
        "https://docs.windsurf.com/windsurf/cascade/mcp",
    ),
    Sample(
        "codex", "user", ".codex/config.toml",
        'model = "gpt-5" # the best\n\n[mcp_servers.docs]\ncommand = "npx"\nargs = ["-y", "docs"]\n\n'
        '# what may be done\n[projects."/home/ada/app"]\ntrust_level = "trusted"\n',
        "https://developers.openai.com/codex/mcp",
    ),
    Sample("codex", "project", ".codex/config.toml", "# nothing yet", "https://developers.openai.com/codex/mcp"),
    Sample(
        "gemini-cli", "user", ".gemini/settings.json",
        '{\n  "theme": "Default",\n  "mcpServers": {\n    "pythonTools": {"command": "python"}\n'
        '  },\n  "hooks": {\n    "BeforeAgent": [\n      {"hooks": [{"type": "command", "command": "me"}]}\n'
        "    ]\n  }\n}\n",
        "https://geminicli.com/docs/tools/mcp-server",
    ),
    Sample(
        "zed", "user", ".config/zed/settings.json",
        '// Zed settings\n//\n// For information on how to configure Zed, see the documentation.\n{\n'
        '  "theme": "One Dark", // dark\n  "context_servers": {\n    "local-mcp-server": {\n'
        '      "command": "some-command",\n      "args": ["arg-1"],\n      "env": {}\n    }\n  }\n}\n',
        "https://zed.dev/docs/ai/mcp",
    ),
    Sample("zed", "project", ".zed/settings.json", "{\n  // empty\n}\n", "https://zed.dev/docs/ai/mcp"),
    Sample(
        "opencode", "user", ".config/opencode/opencode.jsonc",
        '{\n  "$schema": "https://opencode.ai/config.json",\n  "mcp": {\n    "servers": {\n      "mine": {\n'
        '        "type": "local",\n        "command": ["npx", "-y", "example-mcp-server"],\n      },\n'
        "    },\n  },\n}\n",
        "https://opencode.ai/v2/docs/mcp-servers",
    ),
    Sample(
        "opencode", "project", "opencode.json",
        '{\n  "$schema": "https://opencode.ai/config.json",\n  "mcp": {\n    "mine": {"type": "local", '
        '"command": ["bun", "x", "mine"], "enabled": true}\n  }\n}\n',
        "https://opencode.ai/v1/docs/mcp-servers",
    ),
]  # fmt: skip
