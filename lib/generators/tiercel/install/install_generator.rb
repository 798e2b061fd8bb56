# frozen_string_literal: true

require "prism"
require "rails/generators/base"
require "tiercel"

# `bin/rails generate tiercel:install` replaces `config.cache_store` in production.rb, and Rails' `:memory_store` in
# development.rb, if the statement is literal and unconditional. Otherwise it changes nothing and prints the line to
# paste. It carries no option over, because the same name may mean something else here: Solid Cache's `shards` are
# databases. The old statement stays above the new one as a comment, from which `bin/rails destroy tiercel:install`
# restores it.
module Tiercel::Generators; end

class Tiercel::Generators::InstallGenerator < Rails::Generators::Base
  desc "Replaces config.cache_store in production.rb (in development.rb only :memory_store), or prints the line to " \
       "paste. `bin/rails destroy tiercel:install` restores the old line."
  class_option :url, type: :string, desc: "Where the cache is, such as redis://cache:6379/0, or several URLs in " \
                                          "quotes, nearest first: 'shared: redis://cache:6379/0'"

  PRODUCTION = "config/environments/production.rb"
  DEVELOPMENT = "config/environments/development.rb"
  SOLID = %w[shared: sqlite:storage/tiercel.sqlite3].freeze
  HINTS = { redis_cache_store: %w[redis://HOST:6379/0], mem_cache_store: %w[memcached://HOST:11211],
            solid_cache_store: %w[shared: redis://HOST:6379/0] }.freeze
  MARK = "# tiercel:install replaced: "
  MARKED = /^[ \t]*#{MARK}(.*)\n(.*)\n/
  STORE = /^[^#\n]*\bconfig\.cache_store\s*=/
  # Settings of Solid Cache, read as text: the application's YAML may run code.
  ENCRYPTED = /^(?!\s*#).*(solid_cache\S*\.encrypt\w*\s*=|\bencrypt\w*:)(?!\s*(false|nil)\b)/
  SERVER = /^\s*(adapter|url):(?!\s*["']?sqlite3)/
  private_constant :SOLID, :HINTS, :MARK, :MARKED, :STORE, :ENCRYPTED, :SERVER

  # A refused installation exits with a failure status.
  #
  # @return [Boolean]
  def self.exit_on_failure? = true

  # @return [void]
  # @raise [Thor::Error] with the line to paste, if the present statement cannot be replaced
  def replace_production
    return restore(PRODUCTION) if behavior == :revoke
    call, kind, *arguments = present(PRODUCTION)
    return say_status(:identical, "#{PRODUCTION} uses Tiercel", :blue) if kind == :tiercel_store
    rest = arguments.last.is_a?(Prism::HashNode) || arguments.last.is_a?(Prism::KeywordHashNode) ? arguments.pop : nil
    urls = options[:url]&.split || urls_after(kind, arguments, rest)
    refuse("#{PRODUCTION} and application.rb: cache_store is not one literal statement.", urls) if call == :unclear
    refuse("#{PRODUCTION}: no counterpart of #{call.slice}", HINTS[kind]) if urls.nil?
    if kind == :solid_cache_store && (file = encrypted)
      refuse("Solid Cache encrypts its entries (#{file}): add { encrypt: true } to the line.", urls)
    end
    unless rest.nil? || options[:url] || place?(kind, rest)
      refuse("Options are not carried over, because their names may mean something else: #{rest.slice}", urls)
    end
    build(urls)
    replace(PRODUCTION, call, urls)
  end

  # @return [void]
  def replace_development
    return restore(DEVELOPMENT) if behavior == :revoke
    return unless File.file?(absolute(DEVELOPMENT))
    call, kind, *arguments = present(DEVELOPMENT)
    return replace(DEVELOPMENT, call, ["memory:"]) if kind == :memory_store && arguments.empty?
    say "  #{DEVELOPMENT} stays. For tags there: #{line(["memory:"])}" unless kind == :tiercel_store
  end

  # @return [void]
  def examine
    return if behavior == :revoke || options[:pretend]
    insight = Gem.loaded_specs.key?("tiercel-insight")
    return rails_command("cache:doctor", env: "production") if insight && File.exist?(absolute("bin/rails"))
    first = 'add gem "tiercel-insight" to the Gemfile, then ' unless insight
    say "  To examine the cache: #{first}bin/rails cache:doctor"
  end

  private

  # @return [Array] the statement (nil if there is none, :unclear if it cannot be replaced), the kind of the store, and
  #   the nodes of its further arguments
  def present(path)
    text = read(path)
    elsewhere = path == PRODUCTION && read("config/application.rb").match?(STORE) ? 1 : 0
    configure = Prism.parse(text).value.statements.body.find { |node| node.respond_to?(:block) && node.block }
    calls = Array(configure&.block&.body&.body).select { |node| node.respond_to?(:name) && node.name == :cache_store= }
    return [:unclear] if configure.nil? || text.scan(STORE).size + elsewhere != calls.size || calls.size > 1
    return [nil] if calls.empty?
    return [:unclear] if calls.first.slice.include?("\n")
    value = calls.first.arguments.arguments.first
    kind, *arguments = value.is_a?(Prism::ArrayNode) ? value.elements : [value]
    kind.is_a?(Prism::SymbolNode) ? [calls.first, kind.unescaped.to_sym, *arguments] : [:unclear]
  end

  # @return [Array<String>, nil] nil without a counterpart that is sure to be right
  def urls_after(kind, arguments, options)
    texts = arguments.map { |node| node.unescaped if node.is_a?(Prism::StringNode) }
    case kind
    when nil, :memory_store, :null_store then ["shared:"] if texts.empty?
    when :solid_cache_store then SOLID if texts.empty? && !read("config/database.yml").match?(SERVER)
    when :file_store then ["file:#{texts.first}"] if texts.one? && texts.all?
    when :mem_cache_store then ["memcached://#{texts.join(",")}"] if texts.any? && texts.all?(/\A[\w.:-]+\z/)
    when :redis_cache_store then [options.elements.first.value.unescaped] if options && place?(kind, options)
    end
  end

  # @return [Boolean] whether the options only say where the cache is
  def place?(kind, options)
    pair = options.elements.first
    kind == :redis_cache_store && options.elements.one? && pair.is_a?(Prism::AssocNode) && pair.key.slice == "url:" &&
      pair.value.is_a?(Prism::StringNode)
  end

  def encrypted
    places = %w[config/cache.yml config/*.rb config/environments/*.rb config/initializers/*.rb]
    files = Dir.glob(places, base: absolute(""))
    files.find { |path| read(path).match?(ENCRYPTED) }
  end

  # Finds unknown schemes and missing gems before a file changes, and builds nothing.
  def build(urls)
    Tiercel::Configuration.new(urls, {})
  rescue ArgumentError, Tiercel::Error => error
    refuse(error.message, nil)
  end

  def line(urls) = "config.cache_store = :tiercel_store, #{urls.map(&:inspect).join(", ")}"

  def replace(path, call, urls)
    text = read(path)
    top = text.b.index("configure do\n")&.+(13)
    from, upto = call ? [call.location.start_offset, call.location.end_offset] : [top, top]
    before = text.byteslice(0, from)
    was = text.byteslice(from...upto)
    indent = before[/[ \t]*\z/].then { |spaces| spaces.empty? ? "  " : spaces }
    new = "#{MARK}#{was}\n#{indent}#{line(urls)}"
    text = "#{before}#{call ? new : "#{indent}#{new}\n"}#{text.byteslice(upto..)}"
    say_status(:changed, "#{path}: #{line(urls)}")
    File.write(absolute(path), text) unless options[:pretend]
  end

  def restore(path)
    new = nil
    text = read(path).sub(MARKED) do
      new = Regexp.last_match(2)
      was = Regexp.last_match(1)
      was.empty? ? "" : "#{new.sub(/config\.cache_store\s*=.*?(?=\s+#|\s*\z)/) { was }}\n"
    end
    return if new.nil?
    say_status(:restored, path)
    File.write(absolute(path), text) unless options[:pretend]
    left = new.scan(/"(?:sqlite|file):([^"?]+)/).flatten.map { |name| "#{name}*" }
    left << "the segment of shared: (bin/rails tiercel:segments:remove)" if new.include?('"shared:')
    say "  What stays, and is yours to remove: #{left.join(", ")}", :yellow if left.any?
  end

  def refuse(reason, urls)
    paste = line(urls || ["shared:"])
    raise Thor::Error, "tiercel:install changed nothing. #{reason}\nTo replace the store by hand, paste (see " \
                       "docs/migrating.md): #{paste}\nOr name the place: --url=redis://HOST:6379/0"
  end

  def absolute(path) = File.expand_path(path, destination_root)

  def read(path) = File.file?(absolute(path)) ? File.read(absolute(path)) : ""
end
