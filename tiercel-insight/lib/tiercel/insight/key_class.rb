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
  # The words that classes show. No other part of a key is ever stored.
  class Words
    SHARED_BY = 20
    MOST = 4_096
    # Parts that fewer than {SHARED_BY} keys have shared so far, as hashes.
    CANDIDATES = 1_024
    # A plain word, perhaps with a short number. Addresses, tokens, long numbers and digits alone do not match.
    FORM = /\A[A-Za-z_][A-Za-z_-]{0,25}\d{0,4}\z/
    # An attribute or a key of an API, which a report may show.
    FORM_OF_NAME = /\A[a-z_]{1,30}[?!]?\z/
    private_constant :FORM

    def initialize
      @known = {}
      @candidates = {}
    end

    # @return [Array<String>]
    def to_a = @known.keys

    # @param words [Array<String>] words that another process has learned
    # @return [void]
    def learn(words)
      words.each { |word| @known[word] = true if word.is_a?(String) && FORM.match?(word) && @known.size < MOST }
    end

    # @param part [String] a part of a key
    # @param position [Integer] the number of the part
    # @param key_hash [Integer] the key's hash
    # @return [Boolean] whether the name of a class may contain the word
    def show?(part, position, key_hash)
      return true if @known.key?(part)
      return false unless FORM.match?(part)
      keys = @candidates.delete(at = [position, part].hash) || []
      keys << key_hash unless keys.include?(key_hash)
      if keys.size >= SHARED_BY
        @known[part.dup.freeze] = true if @known.size < MOST
        return true
      end
      @candidates.shift if @candidates.size >= CANDIDATES
      @candidates[at] = keys
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
  def of(key)
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
      parts[index] = MASK unless index < 2 * MOST_PARTS && shown?(part, position + (index / 2), hash)
    end
    parts.join
  end

  def shown?(part, position, hash)
    part.ascii_only? && (models.key?(part) || @words.show?(part, position, hash))
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
