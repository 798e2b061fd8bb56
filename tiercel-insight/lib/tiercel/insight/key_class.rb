# frozen_string_literal: true

# The class of a key: its parts, with `*` in place of each part that may be private. A class shows the store's
# namespace, the path of a template, and the name of a model. It also shows plain words that at least 20 different keys
# share.
#
#   views/products/show:9a0364b9e99bb480dd25e1f0284c8555/products/7  ->  views/products/show:*/products/*
#   user:alice@example.com:inbox                                    ->  user:*:inbox
#
# @private
class Tiercel::Insight::KeyClass
  # The words that classes show. No other part of a key leaves the memory of the process. Processes that were forked
  # from one process also tell each other hashes of parts and keys. Only these processes know the seed of the hashes.
  class Words
    SHARED_BY = 20
    MOST = 4_096
    # The most parts that fewer than {SHARED_BY} keys have shared so far, as hashes. Then a third of them remains.
    CANDIDATES = 1_500
    # The weight of a key, to which the time of its blocks is added.
    KEY_NS = 1_000_000
    # A process tells the others the hashes of a part that so many of its keys share.
    TOLD = 3
    FAMILY = "tiercel".hash
    MOST_BYTES = 1 << 20
    # A plain word, perhaps with a short number. Addresses, tokens, long numbers and digits alone do not match.
    FORM = /\A[A-Za-z_][A-Za-z_-]{0,25}\d{0,4}\z/
    # An attribute or a key of an API, which a report may show.
    FORM_OF_NAME = /\A[a-z_]{1,30}[?!]?\z/

    def initialize
      @known, @candidates, @told = {}, {}, []
      @read_bytes = @shared = 0
    end

    # Exchanges words and hashes with other processes. The next flush tries again if the file is locked, because a
    # stopped process may hold the lock, or if it cannot be opened, because it may belong to another user.
    #
    # @param path [String]
    # @return [Boolean, nil] whether others have told anything new
    def share(path)
      File.open(path, File::RDWR | File::CREAT | File::APPEND, 0o600) do |file|
        next unless file.flock(File::LOCK_EX | File::LOCK_NB)
        file.seek(file.size < @read_bytes ? 0 : @read_bytes)
        lines = file.read.b.split("\n").each { |line| learn(line) }
        full = file.size > MOST_BYTES && file.truncate(0)
        words = full ? @known.keys : @known.keys.drop(@shared) - lines
        file.write((words + @told).map { |line| "#{line}\n" }.join)
        @read_bytes, @shared, @told = file.size, @known.size, []
        lines.any?
      end
    rescue SystemCallError
      nil
    end

    # @param word [String] of {FORM}
    # @return [Boolean]
    def known?(word) = @known.key?(word) || (@candidates.fetch(word.hash, []).size > SHARED_BY && remember(word))

    # @param word [String]
    # @return [Boolean] whether a second key has shared the word recently
    def candidate?(word) = @candidates.fetch(word.hash, []).size > 2

    # @param part [String] a part of a key
    # @param key_hash [Integer] the key's hash
    # @param block_ns [Integer] the time of the key's block
    # @return [Boolean] whether the name of a class may contain the word
    def show?(part, key_hash, block_ns = 0)
      return true if known?(part)
      return false unless FORM.match?(part)
      weight, *keys = @candidates[part.hash]
      unless keys.include?(key_hash)
        keys << key_hash
        block_ns += KEY_NS
        told = keys.last(keys.size > TOLD ? 1 : TOLD) if keys.size >= TOLD && @told.size < CANDIDATES
        @told << [FAMILY, part.hash, *told].join(" ") if told
      end
      @candidates[part.hash] = [weight.to_i + block_ns] + keys # a splat would reserve more memory
      forget if @candidates.size > CANDIDATES
      known?(part)
    end

    private

    # A known word needs no hashes of keys.
    def remember(word)
      return true if @known.size >= MOST
      @candidates.delete(word.hash)
      @known[word] = true
    end

    def learn(line)
      return remember(line) if FORM.match?(line)
      family, part, *keys = line.split.map(&:to_i)
      return unless family == FAMILY && keys.any?
      weight, *others = @candidates[part]
      @candidates[part] = [weight.to_i + KEY_NS] + (others | keys)
    end

    # Keeps the parts whose keys are many, costly and recent. So slugs displace no word of an expensive class.
    def forget
      heaviest = @candidates.to_a.max_by(CANDIDATES / 3) { |_, (weight, *)| weight }
      @candidates = heaviest.to_h { |part, (weight, *keys)| [part, [weight * 4 / 5] + keys] }
    end
  end

  # Only the first bytes of a longer key count.
  LONGEST = 512
  MOST_PARTS = 12
  SEPARATORS = %r{([:/?&=|, ])}
  # The path and the digest of a template in the name of an Action View fragment.
  TEMPLATE = %r{\Aviews/([A-Za-z0-9_\-/]{1,100}):\h{32}(?=/|\z)}
  MASK = "*"
  MARK = "\0"

  # @return [Words]
  # @return [String] the beginning of the names of classes
  attr_reader :words, :shown_namespace

  # @param namespace [String, nil] the beginning of the store's keys
  def initialize(namespace = nil)
    @words = Words.new
    @namespace = "#{namespace}:" if namespace.is_a?(String) || namespace.is_a?(Symbol)
    @shown_namespace = Tiercel::Insight::Text.printable(@namespace.to_s)
  end

  # @param key [String] any bytes
  # @return [String] printable ASCII after the namespace
  def of(key) = name(marked(key))

  # @param marked [String]
  # @return [String] the name of the class, with the words that are known by now
  def name(marked) = marked.gsub(/\0([\w-]+)/) { @words.known?($1) ? $1 : MASK }

  # @param marked [String]
  # @return [String] the class without the words that only one key has had recently
  def without_rare_words(marked) = marked.gsub(/\0([\w-]+)/) { @words.candidate?($1) ? $& : name($&) }

  # @param key [String]
  # @param block_ns [Integer] the time of its block
  # @return [String] its class, with each plain word that few keys have shared so far behind a {MARK}. It never leaves
  #   the memory of the process
  def marked(key, block_ns = 0)
    text = key.byteslice(0, LONGEST).force_encoding(Encoding::UTF_8)
    text = text.b unless text.valid_encoding?
    return masked(text, key.hash, block_ns) unless @namespace && text.b.start_with?(@namespace.b)
    @shown_namespace + masked(text.byteslice(@namespace.bytesize, LONGEST), key.hash, block_ns)
  end

  private

  def masked(text, *key)
    template = TEMPLATE.match(text)
    template ? "views/#{template[1]}:*#{parts(template.post_match, *key)}" : parts(text, *key)
  end

  def parts(text, *key)
    separator = SEPARATORS.match?(text) || text.include?("@") ? SEPARATORS : /(\.)/
    parts = text.split(separator, MOST_PARTS + 1)
    parts.each_with_index do |part, index|
      next if part.empty? || index.odd? # a separator
      parts[index] = index < 2 * MOST_PARTS ? shown(part, *key) : MASK
    end
    parts.join
  end

  def shown(part, *key)
    return part if part.ascii_only? && (models.key?(part) || @words.show?(part, *key))
    Words::FORM.match?(part) ? MARK + part : MASK
  end

  # The names of the loaded Active Record models, as they appear in keys.
  def models
    return {} unless defined?(::ActiveRecord::Base)
    loaded = ::ActiveRecord::Base.descendants.size
    return @models if @loaded == loaded
    @loaded = loaded
    @models = ::ActiveRecord::Base.descendants.each_with_object({}) do |model, names|
      names[model.model_name.cache_key] = true if model.name
    end
  end
end
