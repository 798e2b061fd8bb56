# frozen_string_literal: true

require "rails/generators/base"
require "tiercel"

# `bin/rails generate tiercel:install` replaces `config.cache_store` in production.rb, and Rails' `:memory_store` in
# development.rb, if the statement is one unconditional line. Without `--url` the generator replaces only stores without
# a place and without options. In all other cases the generator changes nothing and prints the line to paste. The old
# statement stays above the new one as a comment.
module Tiercel::Generators; end

class Tiercel::Generators::InstallGenerator < Rails::Generators::Base
  desc "Replaces config.cache_store in production.rb (in development.rb only :memory_store), or prints the line to " \
       "paste"
  class_option :url, type: :string, desc: "Where the cache is, such as redis://cache:6379/0, or two URLs in quotes, " \
                                          "the near tier first: 'shared: redis://cache:6379/0'"

  PRODUCTION = "config/environments/production.rb"
  DEVELOPMENT = "config/environments/development.rb"
  URLS = { nil => %w[shared:], "memory_store" => %w[shared:], "null_store" => %w[shared:],
           "solid_cache_store" => %w[shared: sqlite:storage/tiercel.sqlite3] }.freeze
  STATEMENT = /^[^#\n]*\bconfig\.cache_store\s*=/
  # START: the first line of the block. LINE: a statement outside of any branch, complete on its line.
  START = /^.*\.configure do\n/
  LINE = /^  config\.cache_store = (?!.*\s(?:if|unless|\?)\s)(.+[^,\\(\[{])\n(?!   )/
  # Settings of Solid Cache, read as text: the application's YAML may run code.
  ENCRYPTED = /^(?!\s*#).*(solid_cache\S*\.encrypt\w*\s*=|\bencrypt\w*:)(?!\s*(false|nil)\b)/
  SERVER = /^\s*(adapter|url):(?!\s*["']?sqlite3)/
  private_constant :URLS, :STATEMENT, :START, :LINE, :ENCRYPTED, :SERVER

  # A refused installation exits with a failure status.
  #
  # @return [Boolean]
  def self.exit_on_failure? = true

  # @return [void]
  # @raise [Thor::Error] with the line to paste, if the present statement cannot be replaced
  def replace_production
    text = read(PRODUCTION)
    present = text[LINE, 1]
    return say_status(:identical, "#{PRODUCTION} uses Tiercel", :blue) if present&.start_with?(":tiercel_store")
    others = "#{text}#{read("config/application.rb")}".scan(STATEMENT).size
    unclear = others != (present ? 1 : 0) || (present.nil? && !text.match?(START))
    refuse("#{PRODUCTION} and application.rb: cache_store is not one line") if unclear
    refuse("Solid Cache is encrypted: add { encrypt: true } to the line") if present&.match?(/solid/) && encrypted?
    urls = options[:url]&.split || URLS[present && (present[/\A:(\w+)(?=\s*(#|\z))/, 1] || present)]
    urls = nil if present&.match?(/solid/) && !options[:url] && read("config/database.yml").match?(SERVER)
    refuse("the place of #{present} is not clear, and its options may mean something else here") unless urls
    Tiercel::Configuration.new(urls, {}) # finds unknown schemes and missing gems, and builds nothing
    replace(PRODUCTION, urls)
  rescue ArgumentError, Tiercel::Error => error
    refuse(error.message)
  end

  # @return [void]
  def replace_development
    replace(DEVELOPMENT, %w[memory:]) if read(DEVELOPMENT)[LINE, 1] == ":memory_store"
  end

  # @return [void]
  def examine
    return if options[:pretend]
    insight = Gem.loaded_specs.key?("tiercel-insight")
    return rails_command("cache:doctor", env: "production") if insight && File.exist?(absolute("bin/rails"))
    first = 'add gem "tiercel-insight" to the Gemfile, then ' unless insight
    say "  To examine the cache: #{first}bin/rails cache:doctor"
  end

  private

  def encrypted?
    files = %w[config/cache.yml config/*.rb config/environments/*.rb config/initializers/*.rb]
    Dir.glob(files, base: absolute("")).any? { |path| read(path).match?(ENCRYPTED) }
  end

  def line(urls) = "config.cache_store = :tiercel_store, #{urls.map(&:inspect).join(", ")}"

  def replace(path, urls)
    text = read(path)
    changed = text.sub(LINE) { |old| "  # #{old.strip}\n  #{line(urls)}\n" }
    changed = text.sub(START) { |start| "#{start}  #{line(urls)}\n" } if changed == text
    say_status(:changed, "#{path}: #{line(urls)}")
    File.write(absolute(path), changed) unless options[:pretend]
  end

  def refuse(reason)
    raise Thor::Error, "tiercel:install changed nothing: #{reason}.\nTo replace the store by hand, paste " \
                       "#{line(["shared:"])}\n(docs/migrating.md in `bundle show tiercel` has each option). " \
                       "Or name the place: --url=redis://HOST:6379/0"
  end

  def absolute(path) = File.expand_path(path, destination_root)

  def read(path) = File.file?(absolute(path)) ? File.read(absolute(path)) : ""
end
