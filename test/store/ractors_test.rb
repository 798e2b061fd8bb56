# frozen_string_literal: true
# suites: kernel, store_*

require "test_helper"
require_relative "../support/ractor_script"

class StoreRactorsTest < Tiercel::TestCase
  include RactorScript

  # Each line is a call; the same calls in the main Ractor and in another one have the same results.
  CALLS = <<~RUBY
    c.write("text", "a" * 2_000), c.read("text"), c.write("hash", { "a" => [1, 2.5, nil, :b] }, expires_in: 60)
    c.read("hash"), c.exist?("hash"), c.exist?("nothing"), c.delete("hash"), c.read("hash")
    c.write("object", 1..3), c.read("object"), c.write(["x", :y], 1), c.read("x/y")
    c.write("k" * 400, 1), c.read("k" * 400)
    c.increment("count"), c.increment("count", 5, expires_in: 60), c.decrement("count"), c.read_counter("count")
    c.write("raw", "5", raw: true), c.read("raw", raw: true), c.write("raw", 1, unless_exist: true)
    c.write_multi({ "a" => 1, "b" => [2] }), c.read_multi("a", "b", "c"), c.fetch_multi("a", "z") { |n| n * 2 }
    c.delete_multi(%w[a b]), c.delete_matched("z*"), c.write("short", 1, expire_in: 0), c.read("short")
    c.fetch("made", expires_in: 60) { "once" }, c.fetch("made") { "twice" }, c.fetch("nil", skip_nil: true) { nil }
    c.fetch("forced", force: true) { 1 }
    c.fetch("versioned", version: "1") { 1 }, c.fetch("versioned", version: "2") { 2 }
    c.fetch("tagged", tags: %w[one two]) { 1 }, c.fetch("tagged", tags: %w[one two]) { 2 }, c.invalidate_tags("two")
    c.fetch("tagged", tags: %w[one two]) { 3 }, c.fetch("outer") { c.fetch("inner", tags: ["in"]) { 1 } + 1 }
    c.invalidate_tags("in"), c.read("outer"), (c.fetch("fails") { raise "no" } rescue $!.message)
    c.fetch("fails") { 3 }
    (c.read("") rescue $!.message), c.extend(Comparable).nil?
    c.stats.keys, c.namespace, c.clear, c.read("text"), c.cleanup, (c.send(:namespace=, "n") rescue $!.class)
  RUBY

  [{}, { namespace: "ns" }, { frozen: true }, { compress_threshold: 100 }, { encrypt: { keys: ["k" * 32] } },
   { stale_while_revalidate: 5, expires_in: 60 }, { serializer: :marshal, checksum: true }].each do |options|
    define_method(:"test_same_results_with_#{options.keys.join("_and_")}") do
      lines = CALLS.lines.map { |line| "results.concat([#{line.chomp}].map(&:inspect))" }.join("\n")
      output = run_script(options, <<~RUBY)
        run = "->(c) { results = []; #{lines.gsub("\n", ";").gsub("\"", "\\\\\"").gsub("#", "\\\\#")}; results }"
        main = eval(run).call(CACHE)
        other = result_of(Ractor.new(CACHE, run) { |cache, code| eval(code).call(cache) })
        main.zip(other) { |one, another| puts "main: \#{one}, Ractor: \#{another}" unless one == another }
        puts main.size
      RUBY
      assert_operator output.pop.to_i, :>=, 50
      assert_empty output
    end
  end

  [1, 2, 4].each do |count|
    define_method(:"test_#{count}_ractors_beside_two_processes") do
      expected = [*["ok"] * (count + 2), "count 840", "computed 30"]
      assert_equal expected, run_script({}, <<~RUBY, turns: 840 / (count + 2))
        def work(number)
          TURNS.times do |turn|
            CACHE.increment("count")
            own = "own/\#{number}/\#{turn % 20}"
            CACHE.write(own, [turn])
            raise "lost" unless CACHE.read(own) == [turn]
            tagged = "tagged/\#{number}"
            raise "stale" unless CACHE.fetch(tagged, tags: [tagged]) { turn } == turn
            raise "not invalidated" unless CACHE.invalidate_tags(tagged)
            value = CACHE.fetch("shared/\#{turn % 30}") { CACHE.increment("computed") && (turn % 30) }
            raise "wrong" unless value == turn % 30
            raise "back again" if CACHE.delete(own) && CACHE.read(own)
          end
          "ok"
        end
        children = [8, 9].map { |number| IO.popen("-") || (puts(work(number)); $stdout.flush; exit!(0)) }
        ractors = Array.new(#{count}) { |number| Ractor.new(number) { |own| work(own) } }
        puts ractors.map { |ractor| result_of(ractor) }, children.map(&:read)
        puts "count \#{CACHE.read_counter("count")}", "computed \#{CACHE.read_counter("computed")}"
      RUBY
    end
  end

  def test_a_ractor_that_a_block_starts_is_not_inside_the_block
    assert_equal %w[3 3], run_script({}, <<~RUBY)
      value = CACHE.fetch("outer") { result_of(Ractor.new { CACHE.fetch("inner", tags: ["t"]) { 1 } + 1 }) + 1 }
      CACHE.invalidate_tags("t")
      puts value, CACHE.read("outer").inspect
    RUBY
  end

  def test_a_failure_in_a_ractor_is_no_result_and_a_line
    output = run_script({}, <<~RUBY)
      puts result_of(Ractor.new { CACHE.write("large", "x" * 4_000_000, compress: false).inspect })
    RUBY
    assert_equal "false", output.pop
    assert_match(/Tiercel: write_entry on shared:.* failed/, output.join)
  end

  def test_what_works_in_the_main_ractor_only_is_refused_and_the_store_stays_as_it_was
    refused = { '"memory:"' => /only a store over `shared:` alone/,
                '"shared:#{PATH}2", "redis://127.0.0.1:1"' => /only a store over `shared:` alone/,
                '"redis://127.0.0.1:1"' => /only a store over `shared:` alone/,
                '"shared:#{PATH}2", refresh: :background, stale_while_revalidate: 5' => /refresh: :inline/,
                '"shared:#{PATH}2", error_handler: ->(**) {}' => /Ractors cannot share an option/,
                '"shared:#{PATH}3", coder: Marshal' => /a coder: of its own/ }
    output = run_script({}, refused.keys.map { |arguments| <<~RUBY }.join)
      store = Tiercel.new(#{arguments})
      said = Ractor.make_shareable(store) rescue "\#{$!.class} \#{$!.message}"
      puts "said: \#{said.split.join(" ")}", "after: \#{[store.frozen?, store.fetch("a") { 1 }]}"
    RUBY
    said = output.grep(/\Asaid: /)
    assert_equal [refused.size, ["after: [false, 1]"]], [said.size, output.grep(/\Aafter: /).uniq]
    refused.zip(said) do |(arguments, message), text|
      assert_match(/\Asaid: Tiercel::ConfigurationError/, text, arguments)
      assert_match message, text
    end
  end

  def test_options_of_a_call_that_work_in_the_main_ractor_only_are_refused
    output = run_script({}, <<~RUBY)
      puts result_of(Ractor.new { CACHE.fetch("a", refresh: :background) { 1 } rescue $!.message })
      puts result_of(Ractor.new { Tiercel.new("memory:") rescue $!.message })
    RUBY
    assert_match(/refresh: :background needs threads of the main Ractor/, output[0])
    assert_match(/Ractor.make_shareable/, output[1])
  end

  private

  def run_script(options, script, turns: 0)
    with_tmpdir do |dir|
      run_ractors(<<~RUBY)
        require "tiercel"
        require "active_support/cache/tiercel_store"
        PATH = #{"#{dir}/segment".dump}.freeze
        TURNS = #{turns}
        CACHE = Ractor.make_shareable(Tiercel.new("shared:\#{PATH}", size: "8MB", **#{options.inspect}))
        #{script}
      RUBY
    end
  end
end
