//! What of the choices stands in the page's address, so that a link repeats them: `?hub=ID@COMMIT&mirror=URL`.

use straightedge::error::Result;
use straightedge::hub::id::{Endpoint, HubId};

/// The part of an address that chooses a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// A model on the hub, with its commit once that is known.
    pub hub: Option<HubId>,
    /// The mirror that it is fetched from; `None` is the hub itself.
    pub mirror: Option<Endpoint>,
}

impl Address {
    /// Reads decoded names and values of a query; those of other names are left alone.
    ///
    /// # Errors
    /// The first value that is not what its name says: an address comes from anybody.
    pub fn read(pairs: &[(String, String)]) -> Result<Self> {
        let value = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let hub = value("hub").map(HubId::model).transpose()?;
        let mirror = value("mirror").map(str::parse).transpose()?;
        Ok(Self { hub, mirror })
    }

    /// Names with the values that they have now; `None` takes a name out.
    pub fn pairs(&self) -> [(&'static str, Option<String>); 2] {
        let (hub, mirror) = (&self.hub, self.mirror.as_ref().filter(|_| self.hub.is_some()));
        [("hub", hub.as_ref().map(ToString::to_string)), ("mirror", mirror.map(ToString::to_string))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn an_address_says_again_what_was_read_from_it() {
        let given = pairs(&[("x", "1"), ("hub", "a/b@step0"), ("mirror", "http://127.0.0.1:8081")]);
        let address = Address::read(&given).unwrap();
        let written = address.pairs().map(|(name, value)| (name.to_string(), value.unwrap()));
        assert_eq!(written, [given[1].clone(), given[2].clone()]);
        assert_eq!(Address::read(&[]).unwrap().pairs(), [("hub", None), ("mirror", None)]);
    }

    #[test]
    fn hostile_values_are_refused() {
        for (name, value) in [("hub", "../x"), ("hub", "a/b@x y"), ("mirror", "javascript:alert(1)"), ("mirror", "")] {
            assert!(Address::read(&pairs(&[(name, value)])).is_err(), "{name}={value}");
        }
    }
}
