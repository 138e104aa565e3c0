// $WRITTEN
// Memory without asking, for opencode: it calls `graphmem hook` and never fails.
import { spawn } from "node:child_process"

const LINE = $LINE

function hook(event, input) {
  return new Promise((resolve) => {
    let text = ""
    const [program, ...words] = LINE
    const child = spawn(program, [...words, event, "--agent", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
    child.on("error", () => resolve(""))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => (text += data))
    child.on("close", () => resolve(text))
    child.stdin.end(JSON.stringify(input))
  })
}

const sessions = new Map()

async function of(id, place) {
  if (!sessions.has(id)) {
    const cwd = (await place()) ?? process.cwd()
    sessions.set(id, { cwd, start: await hook("session-start", { session_id: id, cwd }), told: "", texts: new Map() })
  }
  return sessions.get(id)
}

async function begin(id, session, turn, prompt) {
  Object.assign(session, { turn, prompt, texts: new Map() })
  session.told = await hook("prompt", { session_id: id, cwd: session.cwd, prompt })
}

async function end(id) {
  const { turn, cwd, prompt, texts } = sessions.get(id) ?? {}
  if (!turn) return
  sessions.get(id).turn = undefined
  await hook("stop", { session_id: id, turn_id: turn, cwd, prompt, text: [...texts.values()].at(-1) ?? "" })
}

const told = (id) => [sessions.get(id)?.start, sessions.get(id)?.told].filter(Boolean)

export default {
  id: "graphmem",
  // opencode 1
  server: async ({ client, directory }) => {
    const isPart = async (id) => (await client.session.get({ path: { id } }).catch(() => undefined))?.data?.parentID
    return {
      "chat.message": async ({ sessionID, messageID }, { message, parts }) => {
        if (!sessions.has(sessionID) && (await isPart(sessionID))) return
        const prompt = parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
        await begin(sessionID, await of(sessionID, () => directory), message?.id ?? messageID, prompt.join("\n"))
      },
      "experimental.chat.system.transform": async ({ sessionID }, output) => void output.system.push(...told(sessionID)),
      "experimental.text.complete": async ({ sessionID, messageID }, { text }) => {
        sessions.get(sessionID)?.texts.set(messageID, text)
      },
      event: async ({ event }) => {
        if (event.type === "session.idle") await end(event.properties.sessionID)
      },
    }
  },
  // opencode 2
  setup: async (ctx) => {
    const place = (id) => async () => {
      const info = await Promise.resolve(ctx.session.get({ sessionID: id })).catch(() => undefined)
      return info?.location?.directory ?? info?.directory
    }

    await ctx.session.hook("prompt", async ({ sessionID, messageID, prompt }) => {
      await begin(sessionID, await of(sessionID, place(sessionID)), messageID, prompt?.text ?? "")
    })

    await ctx.session.hook("context", async (event) => {
      if (event.kind !== "primary") return
      await of(event.sessionID, place(event.sessionID))
      for (const text of told(event.sessionID)) event.system.push({ type: "text", text })
    })

    const watch = async () => {
      for await (const { type, data } of ctx.event.subscribe()) {
        if (type === "session.text.ended") sessions.get(data.sessionID)?.texts.set(data.assistantMessageID, data.text)
        if (type === "session.execution.succeeded") await end(data.sessionID)
      }
    }
    watch().catch(() => {})
  },
}
