# frozen_string_literal: true

# Passes object graphs, graphs that other threads change, mutated payloads and false sizes to the C form until the
# time is over:
#
#   ruby -Ilib test/codec/mutations.rb SECONDS SEED
#
# Prints the number of graphs, and of payloads and frames that were read. Exits at the first difference to Marshal, at
# the first error other than MalformedFrame, or at a slow input.
require "bigdecimal"
require "tiercel"
require_relative "../serializers/object_graphs"
require_relative "lying_claims"

# One run.
class Mutations
  STRING_AND_PLAIN_TYPES = [0x01, 0x02, 0x03, 0x11, 0x20].freeze
  GRAPHS_PER_COMPACTION = 2_000
  GRAPHS_PER_STRESS = 1_000
  GRAPHS_PER_CHANGE = 50
  # Maximum CPU seconds for an input of up to 5,000 bytes, or for a graph.
  MOST_SECONDS = 5
  FRONT = ("-" * 1_000).b.freeze
  VERSIONS = [nil, "1", "é", "v" * 300, "v" * 40_000].freeze

  def initialize(native, seed)
    @native = native
    @random = Random.new(seed)
    @claims = LyingClaims.new(@random)
    @inputs = 0
  end

  # @return [Integer] number of payloads and frames that were read
  attr_reader :inputs

  def run(seconds)
    ends_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    graphs = 0
    until Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends_at
      graph = ObjectGraphs.new(@random.rand(10**9), odd: graphs.even? ? 0.0 : 0.02).make
      check(graph)
      feed(@claims.make)
      graphs += 1
      while_it_changes(graph) if (graphs % GRAPHS_PER_CHANGE).zero?
      under_stress(graph) if (graphs % GRAPHS_PER_STRESS).zero?
      GC.compact if (graphs % GRAPHS_PER_COMPACTION).zero?
    end
    graphs
  end

  private

  def check(graph)
    dump_frame(graph)
    payload = @native.dump(graph) or return
    hold_against_marshal(graph, @native.load(payload))
    5.times { feed(mutate(payload.dup)) }
  end

  def hold_against_marshal(graph, loaded)
    return if Marshal.dump(loaded) == Marshal.dump(Marshal.load(Marshal.dump(graph)))
    abort "differs from Marshal: #{graph.inspect}"
  end

  def dump_frame(graph)
    @native.dump_frame(graph, [nil, @random.rand * 1e9].sample(random: @random), VERSIONS.sample(random: @random), true,
                       @random.rand(2) == 0, [nil, 20].sample(random: @random))
  end

  # Runs with a garbage collection and compaction at every possible point.
  def under_stress(graph)
    GC.stress = GC.auto_compact = true
    payload = @native.dump(graph)
    loaded = @native.load(payload) if payload
    GC.stress = GC.auto_compact = false
    hold_against_marshal(graph, loaded) if payload
  ensure
    GC.stress = GC.auto_compact = false
  end

  # A dump contains one of the two states, never a mixture.
  def while_it_changes(graph)
    shared = Array.new(@random.rand(200..2_000)) { |i| (0..@random.rand(12)).to_h { |key| ["#{key}", [i]] } } << graph
    before = shared.dup
    after = [{ a: 1 }]
    done = false
    changer = Thread.new { [after, before].each { |state| shared.replace(state) && Thread.pass } until done }
    5.times do
      Thread.pass
      payload = @native.dump(shared) or next
      size = @native.load(payload).size
      abort "neither before nor after: #{size} elements" unless [before.size, after.size].include?(size)
    end
  ensure
    done = true
    changer.join
  end

  def feed(bytes)
    attempt { @native.load(at_the_end(bytes)) }
    parts = ["", mutate("\x01\x02\x00\x011".b), long_version, any_parts].sample(random: @random)
    type = STRING_AND_PLAIN_TYPES.sample(random: @random)
    frame = Tiercel::Frame.build(type, bytes, parts:, checksum: @random.rand(2) == 0)
    frame = frame.byteslice(0, @random.rand(frame.bytesize + 1)) if @random.rand(4) == 0
    version = VERSIONS.sample(random: @random)
    attempt { @native.load_frame(at_the_end(frame), 0.0, version, @random.rand(2) == 0) }
    attempt { @native.unchecked_frame(at_the_end(frame)) }
    tags = [at_the_end(bytes), :tag, frame].take(@random.rand(4))
    attempt { @native.naming_options({ tags: tags }, 2, @random.rand(300), true) }
    blocks(bytes)
  end

  # Blocks inflate to the original; altered blocks, at any position and with any claimed size, to that size or not at
  # all.
  def blocks(bytes)
    bytes *= @random.rand(1..60) if @random.rand(2) == 0
    deflated = @native.lz4_deflate(at_the_end(bytes))
    position = deflated.bytesize - deflated.sub(/\A[\x80-\xFF]*./mn, "").bytesize
    abort "an LZ4 block did not come back" unless @native.lz4_inflate(deflated, position, bytes.bytesize) == bytes.b
    altered = at_the_end(mutate(deflated))
    position = @random.rand(4)
    claim = [bytes.bytesize, @random.rand(100_000)].sample(random: @random)
    inflated = attempt { @native.lz4_inflate(altered, position, claim) }
    abort "an LZ4 block inflated to another size than #{claim}" unless [nil, claim].include?(inflated&.bytesize)
  end

  def long_version = Tiercel::Frame::Parts.encode(version: VERSIONS.sample(random: @random))

  # Parts of every kind, often altered, with claims of missing bytes.
  def any_parts
    tags = Array.new(@random.rand(4)) { |number| ["tag:#{number}", @random.bytes(8)] }.to_h
    parts = { version: VERSIONS[1], tags:, lease: [@random.bytes(16), 1.0], inflated_bytes: 1, stale: [1.0, 2.0],
              created_at: [1.0, 0.5] }.to_a.sample(@random.rand(7), random: @random).to_h
    bytes = Tiercel::Frame::Parts.encode(**parts)
    claim = [@random.rand(256), @random.rand(65_536)].pack("CS<") << @random.bytes(@random.rand(30))
    bytes << claim if @random.rand(4) == 0
    @random.rand(2) == 0 ? mutate(bytes) : bytes
  end

  # Puts the bytes at the end of a separate allocation. Ruby stores short Strings inside its objects, where a
  # sanitizer sees no reads beyond their end.
  def at_the_end(bytes) = (FRONT + bytes).byteslice(FRONT.bytesize, bytes.bytesize).freeze

  def attempt
    before = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
    yield
  rescue Tiercel::MalformedFrame
    nil
  ensure
    @inputs += 1
    took = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - before
    abort "one input took #{took.round} s of the processor" if took > MOST_SECONDS
  end

  def mutate(bytes)
    @random.rand(1..3).times do
      case @random.rand(3)
      when 0 then bytes.setbyte(@random.rand(bytes.bytesize), @random.rand(256)) unless bytes.empty?
      when 1 then bytes = bytes.byteslice(0, @random.rand(bytes.bytesize + 1))
      else bytes.insert(@random.rand(bytes.bytesize + 1), @random.bytes(@random.rand(4)))
      end
    end
    bytes
  end
end

if $PROGRAM_NAME == __FILE__
  mutations = Mutations.new(Tiercel::CodecExt, Integer(ARGV.fetch(1, 1)))
  puts "#{mutations.run(Float(ARGV.fetch(0, 10)))} graphs, #{mutations.inputs} inputs"
end
