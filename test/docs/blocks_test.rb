# frozen_string_literal: true
# suites: store
# quick

require "test_helper"
require "erb"
require "json"
require "rake"
require "yaml"
require "active_support/cache/tiercel_store"
require "tiercel/insight"

# The code blocks of README and docs/ for which no other test of this folder runs: a block parses, a command exists, and
# options and methods do what the page says. tiercel-insight/test/commands_test.rb compares outputs of commands.
class BlocksTest < Tiercel::TestCase
  ROOT = File.expand_path("../..", __dir__)
  BLOCKS = Dir.chdir(ROOT) { Dir["README.md", "docs/*.md"] }.to_h do |page|
    [page, File.read(File.join(ROOT, page)).scan(/^ *```(\w*)\n(.*?)^ *```/m)]
  end.freeze

  def of(kind) = BLOCKS.flat_map { |page, blocks| blocks.filter_map { |name, text| [page, text] if name == kind } }

  def test_what_is_parsed
    parsers = { "ruby" => ->(text) { text.start_with?(/\w+: /) || RubyVM::InstructionSequence.compile(text) },
                "erb" => ->(text) { RubyVM::InstructionSequence.compile(ERB.new(text).src) },
                "json" => JSON.method(:parse), "yaml" => YAML.method(:load) }
    parsers.each { |kind, parser| of(kind).each { |page, text| assert parser.call(text), page } }
    assert_empty BLOCKS.values.flatten(1).map(&:first).uniq - [*parsers.keys, "sh", "text", ""]
  end

  def test_commands_exist
    tasks = Rake.with_application { load "#{ROOT}/lib/tasks/tiercel.rake" }.tasks.map(&:name)
    insight = File.read("#{ROOT}/tiercel-insight/lib/rails/commands/cache/cache_command.rb")
    tasks += insight.scan(/^ *desc "(\w+)/).map { |(name)| "cache:#{name}" }
    commands = %w[sh text].push("").flat_map { |kind| of(kind) }.flat_map do |page, text|
      text.scan(%r{^(?:\$ )?(?:\w+=\S+ )*bin/(\w+) "?([\w:-]+)}).map { |words| [page, *words] }
    end
    assert_operator commands.size, :>=, 20
    commands.each do |page, program, name|
      case program
      when "rails", "rake" then assert_includes tasks + %w[generate], name, page
      else assert_path_exists "#{ROOT}/bin/#{program}", page
      end
    end
  end

  def test_the_breaker
    lines = BLOCKS.fetch("docs/failures.md").map(&:last).join.scan(/^breaker: .*/)
    options = lines.map { |line| eval("{ #{line}\n}") } # rubocop:disable Security/Eval, Style/EvalWithLocation
    assert_equal [{ breaker: Tiercel::Breaker::DEFAULTS }, { breaker: false }], options
    options.each { |one| Tiercel.new("redis://127.0.0.1:1/0", **one).close }
  end

  def test_cas
    code = BLOCKS.fetch("docs/store.md").map(&:last).grep(/\.cas/).first
    code = code.gsub(/^(.*\S)\s+# => (.*)$/) { "assert_equal(#{$2}, (#{$1}))" }
    eval(code) # rubocop:disable Security/Eval, Style/EvalWithLocation
  end

  # Puma's configuration calls the block in the master.
  def test_listening_before_the_fork
    forks = []
    puma = Object.new
    puma.define_singleton_method(:preload_app!) {}
    puma.define_singleton_method(:before_fork) { |&block| forks << block }
    puma.instance_eval(BLOCKS.fetch("docs/tiers.md").map(&:last).grep(/before_fork/).first.sub("Rails.cache", "cache"))
    puma.define_singleton_method(:cache) { Tiercel.new("memory:") }
    assert_equal 1, forks.size
    puma.instance_eval(&forks.first)
  end

  def test_routes_of_the_page
    mounted = []
    routes = Module.new
    routes.const_set(:AdminConstraint, Object)
    routes.const_set(:ENV, Hash.new { |_, name| name })
    routes.define_singleton_method(:mount) { |places| mounted.concat(places.keys) }
    routes.define_singleton_method(:constraints) { |*, &block| block.call }
    BLOCKS.fetch("docs/insight.md").map(&:last).grep(/^mount/).each { |code| routes.module_eval(code) }
    assert_equal 4, mounted.size
    assert(mounted.all? { |page| page.respond_to?(:call) })
  end

  def test_the_helper_of_tests
    assert(BLOCKS.fetch("docs/insight.md").any? { |_, text| text.include?("assert_cache_truthful {") })
    assert Tiercel::Insight::TestHelper.method_defined?(:assert_cache_truthful)
  end
end
