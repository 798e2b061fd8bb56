# frozen_string_literal: true

module LockStep
  # Names, values and options for random calls, recreated for each run from the same random numbers.
  class Materials
    Record = Struct.new(:cache_key, :cache_version)
    Unversioned = Struct.new(:cache_key)
    Parameter = Struct.new(:to_param)
    Text = Class.new(String)
    Names = Class.new(Array) { def cache_key = "names/1" }
    Point = Struct.new(:x, :y)

    # Few keys, so that calls affect each other.
    NAMES = [
      -> { +"a" }, -> { "b" }, -> { +"a/b" }, -> { "c".b }, -> { :a }, -> { :b }, -> { 1 }, -> { 1.5 }, -> { ["a"] },
      -> { %w[a b] }, -> { [:a, "b"] }, -> { [["a", "b"], "c"] }, -> { [] }, -> { [nil] }, -> { ["a", nil] },
      -> { [[]] }, -> { nil }, -> { "" }, -> { {} }, -> { true }, -> { [true] }, -> { [1, 2.5] },
      -> { { b: 2, "a" => 1 } }, -> { ["a", { "b" => 1 }] }, -> { +"\u00fcml\u00e4ut" }, -> { "\u00fcml\u00e4ut".b },
      -> { "\u00fcml\u00e4ut".dup.force_encoding("ISO-8859-1") }, -> { "\xFF\xFE".b }, -> { "\xFF" },
      -> { "wide".encode("UTF-16LE") }, -> { [:"\u00fc", "\xFF".b] }, -> { ["\u00fc", "b".b] }, -> { "a b\n\0" },
      -> { "x" * 249 }, -> { "x" * 250 }, -> { "x" * 251 }, -> { "\u00fc" * 200 }, -> { ["x" * 200, "y" * 200] },
      -> { Text.new("a") }, -> { [Text.new("a")] }, -> { Names.new(["z"]) }, -> { [Names.new, "a"] },
      -> { "a".dup.tap { |name| name.define_singleton_method(:cache_key) { "own" } } },
      -> { Parameter.new("p") }, -> { [Parameter.new("p"), 1] }, -> { Parameter.new(nil) },
      -> { Unversioned.new("u/1") }, -> { [Unversioned.new("u/1"), "x"] }, -> { Unversioned.new(nil) },
      -> { Unversioned.new("") }, -> { Unversioned.new(:sym) }
    ].freeze

    UNDUMPABLE = -> {}

    VALUES = [
      -> { nil }, -> { true }, -> { false }, -> { 0 }, -> { -7 }, -> { 2**70 }, -> { 1.5 }, -> { Float::NAN },
      -> { "" }, -> { +"text" }, -> { "frozen" }, -> { "12" }, -> { "\u00fc" * 30 }, -> { "\xFF\x00".b }, -> { "\xFF" },
      -> { "latin\xFC".dup.force_encoding("ISO-8859-1") }, -> { "ascii".encode("US-ASCII") }, -> { "z" * 3_000 },
      -> { "z" * 200_000 }, -> { :symbol }, -> { :"\u00fc" }, -> { [1, [nil, "x"]] }, -> { { "a" => 1, b: [2.0] } },
      -> { Hash.new(5).merge!("a" => 1) }, -> { { 1 => { nil => :x } } }, -> { Point.new(1, [2]) }, -> { 1..3 },
      -> { Time.at(1_700_000_000) }, -> { Text.new("sub") }, -> { ["q" * 2_000] * 3 }, -> { UNDUMPABLE },
      -> { $stdout }, -> { [].tap { |list| list << list } },
      -> { (+"ivar").tap { |text| text.instance_variable_set(:@note, 1) } },
      -> { 3 }, -> { 41 }, -> { "x" * 1_025 }, -> { Rational(1, 3) }, -> { Object }
    ].freeze

    ENDS = [10, 10, 60, 600, 0.5, 0, nil, -5].freeze

    # Few tags, so that most invalidations hit a written entry.
    TAGS = [
      -> { ["a"] }, -> { %w[a b] }, -> { "b" }, -> { :a }, -> { [:b, ["a", 1]] }, -> { [["a", 1]] }, -> { [] }, -> {},
      -> { Record.new("r/1", 1) }, -> { %w[a a b] }, -> { ["\u00fc", "b".b] }, -> { [""] }, -> { [nil] },
      -> { (1..101).to_a }
    ].freeze

    # Bytes that another program may have stored.
    FOREIGN = ["garbage", "12", "-3", "\x00", "\x00\x04\x08[\x06I\"\ab\x06:\x06ET".b, "\x04\x08i\x06".b, ""].freeze

    # @param random [Random]
    def initialize(random) = @random = random
    # @return [Integer] a number below the limit
    def number(limit) = @random.rand(limit)

    # @return [Boolean] true with the probability 1 / count
    def once_in(count) = @random.rand(count).zero?

    def pick(list) = list[@random.rand(list.size)]

    def name
      return record if once_in(4)
      once_in(3) ? pick(NAMES).call : pick(NAMES.first(10)).call
    end

    def names
      Array.new(@random.rand(5)) { name }
    end

    def value = pick(VALUES).call

    # @return [Object] an argument for `tags:`, including invalid ones
    def tags = (once_in(4) ? pick(TAGS) : pick(TAGS.first(4))).call

    def foreign = pick(FOREIGN)

    # @return [Hash, nil]
    def options(*own)
      return if once_in(3)
      return { expires_in: 10 } if once_in(3)
      return [nil, {}, { expires_in: nil }.freeze][@random.rand(3)] if once_in(4)
      chosen = {}
      (1 + @random.rand(2)).times { add_option(chosen, own) }
      once_in(4) ? chosen.freeze : chosen
    end

    # @return [Hash] options for a store
    def store_options
      options = {}
      options[:namespace] = pick(["n", "\u00fc", nil, -> { "called" }, -> {}]) if once_in(3)
      options[:expires_in] = pick([10, 60, 0.5, ActiveSupport::Duration.build(30)]) if once_in(3)
      options[:race_condition_ttl] = pick([5, 10]) if once_in(5)
      options[:compress] = pick([true, false]) if once_in(4)
      options[:compress_threshold] = pick([1, 1_024]) if once_in(4)
      options[:max_key_size] = pick([false, 60, 400]) if once_in(6)
      options[:skip_nil] = true if once_in(6)
      options.merge!(pick(RARE_STORE_OPTIONS).call) if once_in(3)
      options
    end

    RARE_STORE_OPTIONS = [
      -> { { raw: true } }, -> { { version: 1 } }, -> { { force: true } },
      -> { { unless_exist: true } }, -> { { serializer: :marshal } }, -> { { marshal: false } }, -> { { coder: nil } },
      -> { { coder: Marshal } }, -> { { checksum: true } }, -> { { compressor: :zlib } },
      -> { { frozen: true } }
    ].freeze

    private

    def record
      pick([Record.new("r/1", pick([nil, 1, 2, "3"])), ["views", Record.new("r/1", pick([1, 2]))],
            [:views, "products:0123abcd", Record.new("r/2", 1)], [Record.new("r/1", 1), Record.new("r/2", 2)],
            Record.new(pick(["r/1", "\u00fc", :r]), Time.at(5)), [["a", Record.new("r/1", 1)]]])
    end

    def add_option(chosen, own)
      case @random.rand(own.empty? ? 15 : 19)
      when 0, 1 then chosen[:expires_in] = pick(ENDS)
      when 2 then chosen[:expires_in] = pick([ActiveSupport::Duration.build(20), Time.now + 5, "10", Rational(7, 2)])
      when 3 then chosen[:expires_at] = Time.now + pick(ENDS).to_f
      when 4, 5 then chosen[:version] = pick([1, "1", 2, :v, nil])
      when 6 then chosen[:namespace] = pick(["other", nil, -> { "called" }, -> {}, ""])
      when 7 then chosen[:race_condition_ttl] = pick([5, 30, nil])
      when 8 then chosen[pick(%i[expire_in expired_in])] = 15
      when 9 then chosen[:raw] = pick([true, true, false])
      when 10 then chosen[pick(%i[compress skip_nil])] = pick([true, false])
      when 11 then chosen[:unknown] = 1
      when 12, 13, 14 then chosen[:tags] = tags
      else chosen[pick(own)] = pick([true, true, false])
      end
    end
  end
end
