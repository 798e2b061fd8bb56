# frozen_string_literal: true

# Passes names of every kind to the C form of keys and versions until the time is over:
#
#   ruby -Ilib test/codec/hostile_names.rb SECONDS SEED
#
# Exits at the first difference to Rails. Some names change, raise or grow while C walks through them;
# then only a crash or a sanitizer's report counts.
require "tiercel"
require "active_support/core_ext/object/to_param"

# One run.
class HostileNames
  NAMES_PER_STRESS = 5_000
  NAMES_PER_COMPACTION = 20_000
  LIMITS = [nil, false, 0, 1, 40, 250, 100_000].freeze
  SCALARS = [nil, true, false, 0, -1, 2**70, 1.5, :a, :"\u00e9", "", "a", "\u00e9", "\xFF", "a".b, "\xE9".b,
             "a".encode(Encoding::UTF_16LE), "x" * 300, Object, 3r].freeze
  NAMESPACES = [nil, "space", "\u00fc", "n" * 500, "\xE9".b].freeze

  Record = Struct.new(:cache_key, :cache_version) { undef_method :to_a }
  Param = Struct.new(:to_param) { undef_method :to_a }

  # AddressSanitizer does not notice Ruby's longjmp and keeps marking the stack frames that it has left.
  RAISES = !ENV.key?("ASAN_OPTIONS")

  # Changes the Array that C is walking through when C calls its method.
  class Saboteur
    def initialize(random, names) = (@random, @names = random, names)
    def cache_key = sabotage { "key" }
    def cache_version = sabotage { "1" }

    private

    def sabotage
      case @random.rand(6)
      when 0 then @names.clear
      when 1 then @names.concat(Array.new(100) { "more#{_1}" })
      when 2 then @names.replace(["other", self])
      when 3 then raise "no name" if RAISES
      when 4 then GC.start if @random.rand(100).zero?
      else @names.shift
      end
      yield
    end
  end

  def initialize(native, seed)
    @native = native
    @random = Random.new(seed)
  end

  # @return [Integer] number of names so far
  attr_reader :count

  def run(seconds)
    ends_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    @count = 0
    until Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends_at
      compare(name(0))
      survive(saboteurs)
      @count += 2
      GC.compact if (@count % NAMES_PER_COMPACTION).zero?
    end
    @count
  end

  private

  def compare(name)
    namespace, limit = NAMESPACES.sample(random: @random), LIMITS.sample(random: @random)
    key = @native.key(name, namespace, limit)
    same(name, "key", key, of_rails(:normalize_key, name, { namespace: })) if key
    version = @native.version(name)
    same(name, "version", version, of_rails(:normalize_version, name)) unless version == false
    names = Array.new(@random.rand(5)) { name(0) }
    keys = @native.keys(names, namespace, limit)
    same(names, "keys", keys, names.map { |one| @native.key(one, namespace, limit) }) if keys
  end

  def of_rails(...) = (@rails ||= ActiveSupport::Cache::Store.new(max_key_size: false)).send(...)

  def same(name, what, native, expected)
    return if native == expected && native.class == expected.class
    abort "#{what} of #{name.inspect}: #{native.inspect} in C, #{expected.inspect} in Rails"
  end

  def survive(names)
    stress = (@count % NAMES_PER_STRESS) == NAMES_PER_STRESS - 2
    %i[key version keys versions].each do |rule|
      GC.stress = stress
      %i[key keys].include?(rule) ? @native.public_send(rule, names, "space", 250) : @native.public_send(rule, names)
    rescue RuntimeError
      next # the saboteur's
    ensure
      GC.stress = false
    end
  end

  def saboteurs
    names = Array.new(@random.rand(1..8)) { name(1) }
    @random.rand(1..3).times { names.insert(@random.rand(names.size + 1), Saboteur.new(@random, names)) }
    names
  end

  def name(depth)
    case @random.rand(depth < 24 ? 10 : 5)
    when 0..4 then SCALARS.sample(random: @random)
    when 5 then Record.new(name(depth + 1).to_s, [nil, "1", "\u00e9", 7, :v].sample(random: @random))
    when 6 then Param.new(SCALARS.sample(random: @random))
    when 7 then @random.rand(18..24).times.reduce("deep") { |inner, _| [inner] }
    else Array.new(@random.rand(4)) { name(depth + 1) }
    end
  end
end

if $PROGRAM_NAME == __FILE__
  abort "the extension is not built" unless Tiercel::Codec.native
  names = HostileNames.new(Tiercel::Codec.native, Integer(ARGV.fetch(1, 1)))
  puts "#{names.run(Float(ARGV.fetch(0, 10)))} names"
end
