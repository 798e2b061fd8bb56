# frozen_string_literal: true

# In log lines and error reports, shows only the path of the template in a key, because every other part may contain an
# address or a name. The store's option `log_keys: true` shows whole keys.
#
#   views/products/show:9a0364b9e99bb480dd25e1f0284c8555/products/7  ->  views/products/show:*
#   user:alice@example.com                                           ->  *
module Tiercel::KeyMask
  MOST_BYTES = 512
  # The path and the digest of a template in the key of a view's fragment.
  TEMPLATE = %r{(?:\A|:)(views/[A-Za-z0-9_\-/]{1,100}):\h{32}(?=/|\z)}n
  private_constant :MOST_BYTES, :TEMPLATE

  # @param key [String] any bytes
  # @return [String] printable ASCII
  def self.of(key)
    template = key.byteslice(0, MOST_BYTES).b[TEMPLATE, 1]
    template ? "#{template}:*".force_encoding(Encoding::UTF_8) : "*"
  end
end
