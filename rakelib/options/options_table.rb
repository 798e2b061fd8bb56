# frozen_string_literal: true

require "active_support/cache/tiercel_store"

# The table of all options in docs/store.md, made from the schema ({Tiercel::Options}).
module OptionsTable
  SCHEMA = Tiercel::Options
  FETCH = SCHEMA::STORE.slice(*Tiercel::FetchPolicy::NAMES)
  ROWS = [
    ["every store", SCHEMA::STORE.except(*FETCH.keys), "above"], ["every store, `fetch`", FETCH, "fetch"],
    ["every store, as in Rails", SCHEMA::RAILS, "above"],
    *{ shared: "shared", memory: "shared", sqlite: "sqlite", file: "files", memcached: "memcached", redis: "redis" }
      .map { |kind, page| ["`#{kind}:`", SCHEMA::BACKENDS.fetch(kind), page] },
    ["the URL of a near tier", SCHEMA::BACKENDS.fetch(:near), "tiers"]
  ].freeze

  module_function

  # @return [String] Markdown
  def text
    rows = ROWS.map do |head, options, page|
      names = options.map { |name, (_, default)| "`#{name}`#{" (#{shown(default)})" unless default.nil?}" }
      "| #{head} | #{names.join(", ")} | #{page == "above" ? page : "[#{page}.md](#{page}.md)"} |\n"
    end
    "| taken by | options, with defaults in brackets | explained |\n| --- | --- | --- |\n#{rows.join}"
  end

  def shown(default)
    case default
    when Hash then default.map { |name, value| "#{name} #{shown(value)}" }.join(", ")
    when Symbol then default.inspect
    when Integer, Float then default.to_s.delete_suffix(".0").gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")
    else default.to_s.gsub(/(?<=\d)(?=[MG]B\z)/, " ")
    end
  end
end
