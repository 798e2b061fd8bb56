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
  # The words that classes show. No other part of a key leaves the memory of the process.
  class Words
    SHARED_BY = 20
    MOST = 4_096
    # Parts that one key has, and parts that fewer than {SHARED_BY} keys have shared so far, as hashes.
    CANDIDATES = 1_024
    # A plain word, perhaps with a short number. Addresses, tokens, long numbers and digits alone do not match.
    FORM = /\A[A-Za-z_][A-Za-z_-]{0,25}\d{0,4}\z/
    # An attribute or a key of an API, which a report may show.
    FORM_OF_NAME = /\A[a-z_]{1,30}[?!]?\z/

    def initialize
      @known = {}
      @once = {}
      @candidates = {}
    end

    # @return [Array<String>]
    def to_a = @known.keys

    # @param words [Array<String>] words that another process has learned
    # @return [void]
    def learn(words)
      words.each { |word| @known[word] = true if word.is_a?(String) && FORM.match?(word) && @known.size < MOST }
    end

    # @param word [String]
    # @return [Boolean]
    def known?(word) = @known.key?(word)

    # @param part [String] a part of a key
    # @param position [Integer] the number of the part
    # @param key_hash [Integer] the key's hash
    # @return [Boolean] whether the name of a class may contain the word
    def show?(part, position, key_hash)
      return true if @known.key?(part)
      return false unless FORM.match?(part)
      keys = @candidates.delete(at = [position, part].hash) || @once.delete(at) || []
      keys << key_hash unless keys.include?(key_hash)
      if keys.size >= SHARED_BY
        @known[part.dup.freeze] = true if @known.size < MOST
        return true
      end
      candidates = keys.size > 1 ? @candidates : @once
      # Takes one key from each of the oldest parts, until one has none left. So slugs displace no shared word.
      while candidates.size >= CANDIDATES
        oldest, others = candidates.shift
        candidates[oldest] = others if others.pop && others.any?
      end
      candidates[at] = keys
      false
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

  # @param key [String]
  # @return [String] its class, with each plain word that few keys have shared so far behind a {MARK}. It never leaves
  #   the memory of the process
  def marked(key)
    text = key.byteslice(0, LONGEST).force_encoding(Encoding::UTF_8)
    text = text.b unless text.valid_encoding?
    return masked(text, key.hash, 0) unless @namespace && text.b.start_with?(@namespace.b)
    @shown_namespace + masked(text.byteslice(@namespace.bytesize, LONGEST), key.hash, 1)
  end

  private

  def masked(text, hash, position)
    template = TEMPLATE.match(text)
    return "views/#{template[1]}:*#{parts(template.post_match, hash, position + 2)}" if template
    parts(text, hash, position)
  end

  def parts(text, hash, position)
    separator = SEPARATORS.match?(text) || text.include?("@") ? SEPARATORS : /(\.)/
    parts = text.split(separator, MOST_PARTS + 1)
    parts.each_with_index do |part, index|
      next if part.empty? || index.odd? # a separator
      parts[index] = index < 2 * MOST_PARTS ? shown(part, position + (index / 2), hash) : MASK
    end
    parts.join
  end

  def shown(part, position, hash)
    return part if part.ascii_only? && (models.key?(part) || @words.show?(part, position, hash))
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
